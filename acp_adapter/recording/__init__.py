"""Recordings: what went over the wire, in a file without secrets, and that file as a page."""
