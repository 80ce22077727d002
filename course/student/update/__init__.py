"""`course update`: what changed in the course comes in, and what a student wrote stays.

Three versions of a file meet: the *base*, from which the student started; *theirs*, the course's
new version; and *mine*, the student's. A file that the student did not edit becomes the new
version. A module that they edited is merged line by line. What cannot be merged, and a notebook
that they edited, stays as it is, and the course's new version is written beside it.

    update.py      an update from beginning to end
    versions.py    where a new version comes from: a git upstream, or another folder
    merging.py     what becomes of a file that both changed

What a course publishes are its files as `course build` leaves them: `exercises/` and `notebooks/`
in a new version are what its solutions give.
"""
