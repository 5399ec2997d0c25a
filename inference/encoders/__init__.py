"""Encoders: models that turn texts into vectors or probabilities, run on this machine without a network."""
