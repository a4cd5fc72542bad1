"""What goes on behind the turns of a session, as it is stored."""
