"""`course watch`: the tests of a lesson, each time its file is saved, at once.

PyTorch and the tests are loaded only once, by a process that waits (`server`). What is saved is
tested in a fork of it, or in that process itself, whose place another one takes (`runner`). The
student's code never runs in the process that the student sees (`loop`), so nothing it does ends
that one.
"""
