"""nbgrader with our judge: its commands, gradebook and formgrader, but not its way to grade.

nbgrader grades by running a student's notebook in the instructor's account and by looking at what
it printed. Here no notebook is run. The judge grades the module next to it. A new notebook, made of
the released one and of what is harmless in the student's, shows the judge's points and messages.
nbgrader does the rest: scores by hand, feedback, export.

The folder of a class has an `nbgrader_config.py` that calls `configure`. Only assignments with
the name of a lesson, `5_rope`, are graded in this way.
"""

from typing import Any


def configure(config: Any) -> None:
    """Let nbgrader's commands, and its formgrader, use our ways to collect and grade.

    nbgrader has settings for who collects, but none for who grades and what formgrader lists. Its
    `Autograde` takes other preprocessors, but it follows a student's links and parses the notebook
    before the first one runs. So these names are replaced in its modules, which pyproject.toml
    keeps below the next minor version.

    Args:
        config: what `get_config()` gives in nbgrader's configuration.
    """
    from nbgrader.apps import api, autogradeapp

    from course.grading.nbgrader.autograde import Autograde
    from course.grading.nbgrader.submissions import submitted_students, submitted_time

    autogradeapp.Autograde = api.Autograde = Autograde
    api.NbGraderAPI.get_submitted_students = submitted_students
    api.NbGraderAPI.get_submitted_timestamp = submitted_time
    config.ExchangeFactory.collect = "course.grading.nbgrader.collect.Collect"
    config.ZipCollectApp.extractor_plugin = "course.grading.nbgrader.collect.Extractor"
    config.ZipCollectApp.collector_plugin = "course.grading.nbgrader.collect.Collector"
