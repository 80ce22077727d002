"""For pytest, which looks for examples in docstrings: a notebook's source is no module."""

collect_ignore_glob = ["*/notebook.py"]
