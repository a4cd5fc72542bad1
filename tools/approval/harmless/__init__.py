"""Commands that are proven to change nothing, to reach nobody and to reveal no secret."""
