"""What attacks say: tables of patterns, a family or two in each file."""
