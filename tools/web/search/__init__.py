"""Search services: which one is asked, and how each is spoken to."""
