"""Sessions that this process works with: each message stored before it is acted on."""
