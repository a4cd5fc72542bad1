"""Takes the place of `rg` where there is none: a program that knows the options used here and prints the same."""
