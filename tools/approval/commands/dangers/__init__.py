"""What makes a command dangerous or forbidden: rows of a table (`programs.py`), and functions for all else."""
