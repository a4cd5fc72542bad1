"""Keys and sign-ins: which key is used now, which ones rest, and how an OAuth token is renewed."""
