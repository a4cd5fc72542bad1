"""Where commands and files live: backends for the ports of `tools.ports`, and the gate in front of them."""
