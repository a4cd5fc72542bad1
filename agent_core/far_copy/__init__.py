"""The workspace in a place that shares no files with this machine: copied there, and its changes brought back."""
