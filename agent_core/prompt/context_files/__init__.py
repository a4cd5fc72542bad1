"""Rules files: what people have written for agents in a project, found, read with care, and told to the model."""
