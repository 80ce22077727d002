"""What the course needs of the machine: whole files, memory, and a console."""
