"""Which model is asked, where, in which protocol and with which keys: from the settings to a `ModelChoice`."""
