"""Platforms that grade with this course: Gradescope and GitHub Classroom."""
