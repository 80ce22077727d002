"""Lesson 7. Grades `exercises/longer.py`."""
