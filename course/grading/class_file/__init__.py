"""A class's own file, `class.toml`: who is in it, what is due when, and what was decided by hand.

What it says is applied after grading. No judged result is ever changed by it.

    settings.py      what the file may say, as objects
    reading.py       the file, checked: a sentence names the line and the key that are wrong
    exports.py       the tables that Canvas, Moodle and GitHub Classroom export
    beginning.py     a first `class.toml`, made from such a table or from the submissions
    members.py       whose a submission is
    grades.py        results and the class's file -> the grades that count
"""
