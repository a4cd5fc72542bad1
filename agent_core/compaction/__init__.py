"""What of a long conversation the model is shown: how large it is, when it is compressed, how, and who is told."""
