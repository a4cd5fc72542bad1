"""What an action may do: classify it, decide by one policy, ask the person, remember the answer."""
