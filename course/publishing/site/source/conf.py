"""Sphinx's configuration of the course's site.

`course site build` copies this folder, adds what it derives from lessons, syllabus, notebooks and
docstrings, and runs Sphinx there.
"""

import course.publishing  # noqa: F401, before the extensions: they take less time to import
from course import __version__

project = "What and Where"
author = "the authors of What and Where"
copyright = "the authors of What and Where; MIT licence"
release = __version__
language = "en"

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.githubpages",
    "sphinx_copybutton",
    "course.publishing.site.extension",
]
exclude_patterns = ["static", "theme"]
templates_path = ["theme"]

# texts and notebooks
myst_enable_extensions = ["attrs_block", "colon_fence", "dollarmath", "tasklist"]
myst_heading_anchors = 3
nb_execution_mode = "off"  # they come executed
nb_merge_streams = True
nb_code_prompt_show = "Guess first, then see what comes out"
nb_code_prompt_hide = "What comes out"
html_math_renderer = "mathml"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# docstrings
default_role = "code"
smartquotes_action = "qD"  # three dots stay three, as in (..., T, D)
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
add_module_names = False
python_use_unqualified_type_names = True
napoleon_numpy_docstring = False
napoleon_use_rtype = False

# pages
html_theme = "furo"
html_title = project
html_favicon = "static/favicon.svg"
pygments_dark_style = "github-dark"
html_use_index = False  # the search finds more
html_domain_indices = False
html_static_path = ["static"]
html_css_files = ["site.css", "text.css", "lab.css"]
html_js_files = ["site.js"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "navigation_with_keys": True,
    "top_of_page_buttons": [],
    "light_css_variables": {
        "color-brand-primary": "#0a5c8f",
        "color-brand-content": "#0a5c8f",
        "color-brand-visited": "#6a3d8f",
        "color-passed": "#00713a",
        "color-trouble": "#a84300",
    },
    "dark_css_variables": {
        "color-brand-primary": "#6cc0f0",
        "color-brand-content": "#6cc0f0",
        "color-brand-visited": "#c3a3e6",
        "color-passed": "#2fc27a",
        "color-trouble": "#f5a35c",
    },
}
