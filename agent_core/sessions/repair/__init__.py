"""Looking at a database, and mending it without deleting anything."""
