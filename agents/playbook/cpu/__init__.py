"""The space of C on a CPU: dialects, levers, and what writes the C."""
