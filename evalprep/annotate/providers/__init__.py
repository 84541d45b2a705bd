"""Requests to a model over the network: wire formats, and a client that no answer can hurt."""
