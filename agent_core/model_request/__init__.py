"""One request to a model: what is sent, which model is asked, how failures are survived, how the answer is read."""
