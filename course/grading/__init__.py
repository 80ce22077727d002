"""Grading a class: what was handed in, judged in a sandbox."""
