"""What a user can set: the model behind `config.yaml`, its small parts in one file, its large ones in a file each."""
