"""What is known of models and servers: figures, prices, live lists, and what runs on this machine."""
