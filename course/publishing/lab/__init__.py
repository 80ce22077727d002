"""The figures to play with: `<course-lab scene="rope">` around a still picture of a text.

`script.py` puts the scripts of this folder and of the lessons' rooms together, one file for all
pages. `trained.json` has the numbers that come from training.
"""
