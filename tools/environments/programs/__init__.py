"""Programs on this machine: their interpreter, their start, and the calls that they make."""
