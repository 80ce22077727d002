"""Lesson 8: known mistakes and legitimate alternatives."""
