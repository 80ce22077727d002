"""`python -m course` is the `course` command."""

from course.cli import main

main(prog_name="course")
