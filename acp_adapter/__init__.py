"""The editor's side: the Agent Client Protocol over stdin and stdout, around `agent_core`."""
