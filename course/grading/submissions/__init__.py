"""What a class handed in: read, never run, never unpacked to the disk.

A class is a folder or a zip, in any of these layouts; which one it is, is seen by looking.

    jane/rope.py                               a folder per student, the modules anywhere in it;
    jane/what-and-where/exercises/rope.py      in a clone those in exercises/ count
    jane.zip                                   a zip per student, with the same inside
    submitted/jane/homework/rope.py            nbgrader; the folder above `submitted` will do too
    doejane_LATE_12345_6789_rope.py            Canvas: loose files or zips
    Jane Doe_12345_assignsubmission_file_/     Moodle: a folder per student, or loose files

A submission that is given by itself is a class of one. Nobody who handed something in is left out:
what cannot be read, or should not be, becomes a note. What comes under the name of another's work,
jane.zip beside jane/, is nobody's, and nor is the other: neither is read until one is gone.

Of several copies of rope.py one counts. Where none is called so, or where it is newer than the one
beside it, a copy under the name that a computer gave it is taken: "rope (1).py", "rope - Copy.py",
"rope.py.txt".

    submission.py     the submissions, one after the other
    layout.py         where in a class the students' work lies
    owners.py         whose it is, and what each student is called
    own_files.py      the files of one student, those in zips too
    manifest.py       whose name stands in a zip of `course submit`
    choice.py         which of them counts
    files.py          files in a folder and in a zip, alike
    file_names.py     what the name of a file says
"""

from course.grading.submissions.layout import SubmissionsError
from course.grading.submissions.submission import Submission, modules_beside, read_submissions

__all__ = ["Submission", "SubmissionsError", "modules_beside", "read_submissions"]
