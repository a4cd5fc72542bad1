"""Verify-on-stop: a turn that edited code and ran no check of it is told so once, before it ends."""
