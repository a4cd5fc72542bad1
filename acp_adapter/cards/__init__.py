"""How tool calls look in the editor: a card for each, from one table."""
