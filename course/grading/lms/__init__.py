"""Points for a learning management system: its own export, with the points filled in.

table.py      a CSV whose cells are edited in place: all other bytes stay
export.py     who is who in an export, and what is filled in
canvas.py     exports of Canvas's gradebook
moodle.py     Moodle's grading worksheets, and exports of its gradebook
"""
