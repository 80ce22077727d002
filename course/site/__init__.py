"""The course as a website that needs no network: `course site build` and `course site serve`.

command.py      what is typed
build.py        pages in, site out, whole or not at all
pages.py        writes the pages: from lessons, syllabus, docstrings, notebooks, and templates/
executed.py     notebooks, run with the reference, and kept until something changes
extension.py    formulas and diagrams, for Sphinx
serve.py        the site on this machine's own network
assets.py       fetches what browsers draw formulas and diagrams with, into assets.zip
source/         Sphinx's configuration, the pages written by hand, style and script
"""
