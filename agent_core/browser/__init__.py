"""A session's browser: the driver, the border around it, and the proxy that it reaches the network through."""
