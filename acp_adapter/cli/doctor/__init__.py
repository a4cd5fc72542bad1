"""What `hermes-acp doctor` is made of: a file per subject in `checks/` and `mending/`, run, and shown."""
