"""Derive stubs, notebooks and parts of the texts from `solutions/` and the syllabus."""
