"""One turn: its loop, what it keeps of the conversation, how it ends and what is told of it."""
