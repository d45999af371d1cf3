"""AutoGen behind the port. Only this folder imports it, and only when a model is asked: its imports take seconds."""
