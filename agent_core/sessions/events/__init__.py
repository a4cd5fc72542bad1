"""What happened in a turn: taken down, stored, shown again."""
