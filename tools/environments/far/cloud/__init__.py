"""Sandboxes of services in the network, through the SDKs of those who run them."""
