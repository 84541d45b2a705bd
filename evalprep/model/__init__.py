"""What can be known of a model and of this machine without loading the model."""
