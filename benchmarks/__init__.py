"""What is measured about hermes-acp, against floors of the same run. See docs/performance.md."""
