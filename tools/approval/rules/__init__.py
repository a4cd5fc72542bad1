"""Rules that the user writes: what may always happen, and what never may."""
