"""The small models of the figures to play with, and the numbers that come from their training."""
