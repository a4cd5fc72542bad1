"""The editor's own files and terminals, as the ports that tools use. No policy here: the gates stand in front."""
