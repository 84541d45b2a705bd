"""How a model is asked over the network: wire formats, and a client that no answer can hurt."""
