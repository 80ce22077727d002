"""The figures to play with: `<course-lab scene="rope">` around a still picture of a text.

`script.py` puts the scripts of this folder and of the lessons' rooms together, for all pages.
"""
