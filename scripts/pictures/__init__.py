"""Pictures of the documentation, made from real runs: `python -m scripts.pictures docs/pictures`."""
