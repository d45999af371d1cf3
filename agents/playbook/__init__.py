"""The playbook: a deterministic specialist that searches a structured design space and writes C."""
