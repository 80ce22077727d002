"""Lesson 7: known mistakes and legitimate alternatives."""
