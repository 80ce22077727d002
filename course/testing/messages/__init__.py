"""The words for results."""
