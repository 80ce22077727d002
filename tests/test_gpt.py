"""Lesson 8. Grades `exercises/gpt.py`."""
