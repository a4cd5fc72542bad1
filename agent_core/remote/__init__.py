"""A session on another machine: which machine that is, and the copy of the workspace where no files are shared."""
