"""What the shell tools stand on: what a shell keeps, background processes, what exit codes mean."""
