"""The editor's side: the Agent Client Protocol over stdin and stdout, around `agent_core`."""

__version__ = "0.1.0"
