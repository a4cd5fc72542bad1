"""The wire protocols: what goes to a model server, byte for byte, and what comes back."""
