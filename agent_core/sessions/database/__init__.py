"""The SQLite file: opening, migrating, one transaction at a time."""
