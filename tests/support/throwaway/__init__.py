"""A throw-away machine in which dangerous commands really run: bubblewrap, a made-up home, stubs for the outside."""
