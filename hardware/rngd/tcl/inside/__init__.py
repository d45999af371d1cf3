"""Programs that run in the vendor's Python environment, confined: they import nothing of this package."""
