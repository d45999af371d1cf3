"""The LangGraph machine: a pure router over the folded log, steps with effects, and the runner."""
