"""Views: pure folds over events that answer every question. They are rebuilt from the log at will."""
