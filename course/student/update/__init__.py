"""`course update`: what changed in the course comes in, and what a student wrote stays.

Three versions of a file meet: the *base*, from which the student started; *theirs*, the course's
new version; and *mine*, the student's. What only one side changed is taken from that side. What
both changed stays the student's, and the course's new version is written beside it.

    update.py      an update from beginning to end
    versions.py    where a new version comes from: a git upstream, or another folder
    modules.py     exercises/*.py, merged definition by definition
    notebooks.py   notebooks/*.ipynb, merged cell by cell
    merging.py     what both share

What a course publishes are its files as `course build` leaves them: `exercises/` and `notebooks/`
in a new version are what its solutions give.
"""
