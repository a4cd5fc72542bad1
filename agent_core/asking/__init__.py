"""Asking a model until it has answered: one attempt, what a failure means, and the ways on from it."""
