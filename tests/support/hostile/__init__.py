"""A workspace that wants to harm who opens it: attacks, who listens for what they carry out, what must not change."""
