"""The course's needs of the machine: whole files, memory, and a console."""
