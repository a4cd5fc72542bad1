"""Reads shell commands with a real grammar: which programs may run, with which arguments."""
