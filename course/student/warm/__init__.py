"""A process that waits with PyTorch loaded, to run a student's module at once.

The student's code never runs in the process that asks (`process`), so nothing it does ends that
one. It runs in a fork of the one that waits (`server`), or in that process itself, which is then
replaced. A *task*, a module, says what to do with the student's module.
"""
