"""What a student's commands and notebooks do."""
