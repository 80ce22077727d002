"""The work behind a student's commands and notebooks."""
