"""Models that are asked through a vendor's SDK: for its sign-ins, and as a way out where our own HTTP is refused."""
