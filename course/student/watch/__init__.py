"""`course watch`: the tests of a lesson, each time its file is saved, at once.

`loop` sees what is saved and shows what comes out; `verdict` is what the warm process does with it.
"""
