"""`nbgrader zip_collect`, which does nothing for a lesson but say why.

nbgrader's own takes the student from every file's name, also in a zip that a student made: so
anybody could hand in for anybody. And one zip that is damaged, or huge, stops it for all.
"""

from typing import Any

from nbgrader.plugins import ExtractorPlugin

from course.grading.nbgrader.assignments import lesson_of


class NoArchives(ExtractorPlugin):
    """nbgrader's, for assignments that are no lessons."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        assignment = self.parent.coursedir.assignment_id
        if lesson_of(assignment) is not None:
            self.parent.fail(
                "zip_collect would believe names that students wrote: put their files into "
                f"submitted/STUDENT/{assignment}/, or give the download to `course grade`"
            )
