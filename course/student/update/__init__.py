"""`course update`: what changed in the course comes in, and what a student wrote stays.

Three versions of a file meet: the *base*, from which the student started; *theirs*, the course's
new version; and *mine*, the student's. What only one side changed is taken from that side. What
both changed stays the student's, and the course's new version is written beside it.

    command.py             the command itself
    bring_in.py            an update from beginning to end
    clone.py, folder.py    where a new version comes from: a git upstream, or another folder
    version.py             what a new version is
    plan.py                what to write, before anything is written
    merged.py              what a merge gives
    modules.py             exercises/*.py, merged definition by definition, with the help of
      python_text.py       where what stands in a text
      definitions.py       one function or class: its signature, docstring and body
      imports.py           the imports united
      renames.py           exercises that got another name
    notebooks.py           notebooks/*.ipynb, merged cell by cell
    sequences.py           what changed from one list to another
    carry_out.py           writing it so that a crash at any moment loses nothing
    switch.py              the course's own code replaced in one step
    report.py              what is said in the end

What a course publishes are its files as `course build` leaves them: `exercises/` and `notebooks/`
in a new version are what its solutions give.
"""
