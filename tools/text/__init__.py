"""Text as tools work with it: encodings, pages, matches, differences, what a terminal printed."""
