"""What a confined command reaches: a supervisor for its connections, and a proxy that knows the hosts."""
