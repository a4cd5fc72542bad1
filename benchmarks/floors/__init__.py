"""Minimal agents: what the interpreter, the wire and the SDK cost by themselves."""
