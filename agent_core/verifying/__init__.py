"""What a turn would leave undone: it is told so once before it ends."""
