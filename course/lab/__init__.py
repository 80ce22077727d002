"""The Positional Encoding Lab: one page, in any browser, with four ways to say where a token is.

`course lab export` writes it. Python makes the numbers, with the reference or with a student's own
functions (`numbers.py`); the page multiplies and draws them (`model.js`, `drawing.js`,
`questions.js`, `page.js`), and needs nothing beside itself.
"""
