"""Where commands and files live: backends for the ports of `tools.context`, and the gate in front of them."""
