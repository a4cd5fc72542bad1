"""The agent: its loop, the model providers, the prompt, the conversation's memory. It knows no editor."""
