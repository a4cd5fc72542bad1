"""What `hermes-acp doctor` looks at, a file per subject."""
