"""`nbgrader collect` and `zip_collect`, where they take what other people's folders hold."""

import os
import secrets
from datetime import datetime
from pathlib import Path
from typing import Any

from nbgrader.exchange.default import ExchangeCollect
from nbgrader.plugins import ExtractorPlugin

from course.grading.nbgrader.submissions import (
    MAX_FILE_BYTES,
    PLAIN,
    SECRET,
    TIME,
    Unreadable,
    is_plain,
    lesson_of,
    read_file,
    time_in,
)


class Collect(ExchangeCollect):
    """`nbgrader collect`, which takes nothing but what lies in a student's own folder.

    nbgrader's own follows links, as the instructor, and stops at the first folder whose name it
    cannot read, so one student could keep it from collecting at all.
    """

    def init_src(self) -> None:
        """Find the latest submission of each student."""
        super().init_src()
        self.src_records = [record for record in self.src_records if record["username"]]

    def _path_to_record(self, path: str) -> dict[str, Any]:
        """Return what the name of a submission says; if it is none, warn, and call it nobody's."""
        name = os.path.basename(path)
        student, _, text, *_ = [*name.rsplit("+", 3), "", ""]
        time, is_folder = time_in(text), os.path.isdir(path) and not os.path.islink(path)
        if time and is_folder and is_plain(student):
            return {"username": student, "filename": name, "timestamp": time}
        why = f"it is no folder STUDENT+ASSIGNMENT+TIME+..., where {PLAIN}"
        self.log.warning("%r was not collected: %s", name, why)
        return {"username": "", "filename": name, "timestamp": datetime.min}

    def do_copy(self, src: str, dest: str, log: object = None) -> None:
        """Copy the files that were released, as they were handed in; of others nothing is graded.

        The time is that in the folder's name, by which nbgrader finds the latest submission. A
        secret that is missing, without which nbgrader releases nobody's feedback, is made up.
        """
        course, assignment = self.coursedir, self.coursedir.assignment_id
        if lesson_of(assignment) is None:
            super().do_copy(src, dest, log)
            return
        release = Path(course.format_path(course.release_directory, ".", assignment))
        released = sorted(path.name for path in release.glob("*.*"))
        if not released:
            self.fail(f"run `nbgrader generate_assignment {assignment}` first")
        files = {SECRET: secrets.token_hex(64).encode()}
        for name in [*released, SECRET]:
            try:
                files[name] = read_file(src, name, MAX_FILE_BYTES)
            except (Unreadable, OSError) as why:
                self.log.warning("%r: %s", os.path.basename(src), why)
        files[TIME] = src.rsplit("+", 3)[2].encode()
        os.makedirs(dest)
        for name, data in files.items():
            Path(dest, name).write_bytes(data)


class NoArchives(ExtractorPlugin):
    """`nbgrader zip_collect`, which does nothing for a lesson but say why.

    nbgrader's own takes the student from every file's name, also in a zip that a student made: so
    anybody could hand in for anybody. And one zip that is damaged, or huge, stops it for all.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        assignment = self.parent.coursedir.assignment_id
        if lesson_of(assignment) is not None:
            self.parent.fail(
                "zip_collect would believe names that students wrote: put their files into "
                f"submitted/STUDENT/{assignment}/, or give the download to `course grade`"
            )
