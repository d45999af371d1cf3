"""Readings on an Arena account: the client, jobs that survive their submitter, logs, and paired comparisons."""
