"""Skills: folders with a SKILL.md that tells a model how to do a kind of work, found, checked and shown."""
