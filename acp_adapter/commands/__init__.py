"""What a person can type as `/name` at the beginning of a prompt."""
