"""Files and commands on another machine, reached by a program that runs here: ssh, docker and their like."""
