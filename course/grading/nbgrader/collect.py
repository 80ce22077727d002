"""`nbgrader collect` and `zip_collect`, where they take what other people's folders hold."""

import os
import secrets
import shutil
from datetime import datetime
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from nbgrader.exchange.default import ExchangeCollect
from nbgrader.plugins import ExtractorPlugin
from nbgrader.utils import parse_utc

from course.grading.names import printable
from course.grading.nbgrader.release import lesson_of
from course.grading.nbgrader.submissions import (
    MAX_FILE_BYTES,
    NOT_PLAIN,
    Folder,
    Unreadable,
    is_plain,
    is_time,
)
from course.system.files import write_whole

MAX_FILES = 100
MAX_BYTES = 50 << 20
"""Of all files of a submission."""
TOO_MUCH = f"of more than {MAX_FILES} files or {MAX_BYTES >> 20} MB the rest was not collected"


class Collect(ExchangeCollect):
    """`nbgrader collect`, which takes nothing but the files that lie in a student's own folder.

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
        student, _, time, *_ = [*name.rsplit("+", 3), "", ""]
        if not is_plain(student):
            why = NOT_PLAIN
        elif not is_time(time):
            why = "its name holds no time"
        elif os.path.islink(path) or not os.path.isdir(path):
            why = "it is no folder"
        else:
            return {"username": student, "filename": name, "timestamp": parse_utc(time)}
        self.log.warning("%r was not collected: %s", name, why)
        return {"username": "", "filename": name, "timestamp": datetime.min}

    def do_copy(self, src: str, dest: str, log: object = None) -> None:
        """Copy what was handed in, whole or not at all.

        The time is that in the folder's name, by which nbgrader finds the latest submission. A
        secret that is missing, without which nbgrader releases nobody's feedback, is made up.
        """
        if lesson_of(self.coursedir.assignment_id) is None:
            super().do_copy(src, dest, log)
            return
        draft = Path(dest).with_name(f".{Path(dest).name}.{os.getpid()}")
        try:
            draft.mkdir(parents=True)
            write_whole(draft / "submission_secret.txt", secrets.token_hex(64))
            with Folder(src) as folder:
                self._copy_files(folder, Path(src).name, draft)
            write_whole(draft / "timestamp.txt", src.rsplit("+", 3)[2])
            os.rename(draft, dest)
        except Unreadable as why:
            self.log.warning("%s", printable(str(why)))
        finally:
            shutil.rmtree(draft, ignore_errors=True)

    def _copy_files(self, folder: Folder, source: str, draft: Path) -> None:
        """Copy files, first those that are graded, until they are too many or too large."""
        assignment, room = self.coursedir.assignment_id, MAX_BYTES
        wanted = {assignment, lesson_of(assignment).stem}
        names = sorted(folder.names(), key=lambda name: Path(name).stem not in wanted)
        for number, name in enumerate(names):
            if any(fnmatch(name, pattern) for pattern in self.coursedir.ignore):
                continue
            try:
                data = folder.read(name, MAX_FILE_BYTES)
            except Unreadable as why:
                self.log.warning("%s: %s", printable(source), printable(str(why)))
                if not name.endswith(".ipynb"):
                    continue
                data = b""  # it stands for a notebook whose answers are to be looked for
            room -= len(data)
            if room < 0 or number >= MAX_FILES:
                self.log.warning("%r: %s", source, TOO_MUCH)
                return
            (draft / name).write_bytes(data)


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
