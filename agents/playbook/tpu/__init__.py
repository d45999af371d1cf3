"""The space of Pallas on a TPU: levers, and what writes the sources."""
