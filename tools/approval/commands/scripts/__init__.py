"""Scripts inside commands (`python -c`, `awk '…'`, SQL): what they would do, as far as their text tells."""
