"""What goes on behind the turns of a session, and how it is told."""
