"""`hermes-acp sessions`: stored sessions listed, shown, searched, exported and deleted."""
