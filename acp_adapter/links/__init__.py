"""What a prompt links to: addresses are understood, files and directories read through the gate, all bounded."""
