"""A stored session as a file to read, to keep or to train with: Markdown, one HTML page, a trajectory."""
