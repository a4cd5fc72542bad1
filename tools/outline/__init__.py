"""The outline of a source tree: what files define and refer to, and what of it matters most, as a short text."""
