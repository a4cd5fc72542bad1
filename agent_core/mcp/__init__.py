"""The client side of the Model Context Protocol: the servers of a session, and their tools.

`session_servers.py` is what the rest of the program uses. Behind it each server has a task (`server.py`) on the one
service loop; `connection.py` opens its transport. Only this package imports the `mcp` SDK, and only on the service
loop's thread: it takes one to two seconds to load.
"""
