"""Experiments that take longer than a test: what a text claims, measured."""
