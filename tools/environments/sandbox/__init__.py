"""What the operating system keeps a command from, whatever it tries."""
