"""What a user can set: the model behind `config.yaml` and its parts, a file per part."""
