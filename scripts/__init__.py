"""Programs for whoever maintains the project; nothing here is installed."""
