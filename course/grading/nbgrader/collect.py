"""`nbgrader collect`, which takes nothing but the files that lie in a student's own folder.

nbgrader's own follows links, as the instructor: a `rope.py` that is a link to the instructor's
solution would arrive as that solution. And it stops at the first folder whose name it cannot read,
so one student could keep it from collecting at all.
"""

import os
import secrets
import shutil
from datetime import datetime
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from nbgrader.exchange.default import ExchangeCollect
from nbgrader.utils import parse_utc

from course.grading.names import printable
from course.grading.nbgrader.assignments import lesson_of
from course.grading.nbgrader.handed_in import is_time
from course.grading.nbgrader.students import NOT_PLAIN, is_plain
from course.grading.nbgrader.untrusted import Folder, Unreadable
from course.system.files import write_whole

MAX_FILES = 100
MAX_FILE_BYTES = 20 << 20
MAX_BYTES = 50 << 20
"""Of all files of a submission."""
TOO_MUCH = f"of more than {MAX_FILES} files or {MAX_BYTES >> 20} MB the rest was not collected"


class Collect(ExchangeCollect):
    """nbgrader's, for what other people's folders hold."""

    def init_src(self) -> None:
        """Find the latest submission of each student."""
        super().init_src()
        self.src_records = [record for record in self.src_records if record["username"]]

    def _path_to_record(self, path: str) -> dict[str, Any]:
        """What the name of a submission says; if it is none, a warning and the record of nobody."""
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
            self._copy_files(Path(src), draft)
            write_whole(draft / "timestamp.txt", src.rsplit("+", 3)[2])
            os.rename(draft, dest)
        finally:
            shutil.rmtree(draft, ignore_errors=True)

    def _copy_files(self, source: Path, draft: Path) -> None:
        """Copy files, first those that are graded, until they are too many or too large."""
        assignment = self.coursedir.assignment_id
        wanted = {assignment, lesson_of(assignment).stem}
        room = MAX_BYTES
        try:
            with Folder(source) as folder:
                names = sorted(folder.names(), key=lambda name: Path(name).stem not in wanted)
                for name in names[:MAX_FILES]:
                    if any(fnmatch(name, pattern) for pattern in self.coursedir.ignore):
                        continue
                    try:
                        data = folder.read(name, MAX_FILE_BYTES)
                    except Unreadable as why:
                        self.log.warning("%s: %s", printable(source.name), printable(str(why)))
                        if not name.endswith(".ipynb"):
                            continue
                        data = b""  # it stands for a notebook whose answers are to be looked for
                    room -= len(data)
                    if room < 0:
                        break
                    (draft / name).write_bytes(data)
                if room < 0 or len(names) > MAX_FILES:
                    self.log.warning("%r: %s", source.name, TOO_MUCH)
        except Unreadable as why:
            self.log.warning("%s", printable(str(why)))
