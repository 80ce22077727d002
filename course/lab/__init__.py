"""The Positional Encoding Lab: one page, in any browser, in which positions can be touched.

`course lab export` writes it. Python makes the numbers, with the reference or with a student's own
functions (`numbers.py`), after a training of some seconds (`training.py`). The page multiplies them
(`model.js`), draws them, asks questions about them, and needs nothing beside itself (`page.py`).
"""
