"""What the figures to play with draw of a student's own functions."""
