"""What makes a command dangerous or forbidden: a family a file, each over the programs that a command runs."""
