"""The log: immutable events, the aggregates that guard them, and the views folded from them."""
