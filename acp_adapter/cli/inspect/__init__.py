"""`hermes-acp inspect`: a recorded connection, read back and written as one HTML page."""
