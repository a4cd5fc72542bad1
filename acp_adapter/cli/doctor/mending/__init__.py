"""What `hermes-acp doctor --fix` mends, a file per subject."""
