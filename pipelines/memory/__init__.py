"""What the model is shown of the past."""
