"""Runs as data to train with."""
