"""`nbgrader collect`, which takes nothing but the files that lie in a student's own folder.

nbgrader's own follows links, as the instructor: a `rope.py` that is a link to the instructor's
solution would arrive as that solution.
"""

import os
import secrets
import shutil
from fnmatch import fnmatch
from pathlib import Path

from nbgrader.exchange.default import ExchangeCollect

from course.files import write_whole
from course.grading.names import printable
from course.grading.nbgrader.assignments import lesson_of
from course.grading.nbgrader.untrusted import Folder, Unreadable

MAX_FILE_BYTES = 20 << 20


class Collect(ExchangeCollect):
    """nbgrader's, for what other people's folders hold."""

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
        try:
            with Folder(source) as folder:
                for name in folder.names():
                    if any(fnmatch(name, pattern) for pattern in self.coursedir.ignore):
                        continue
                    try:
                        (draft / name).write_bytes(folder.read(name, MAX_FILE_BYTES))
                    except Unreadable as why:
                        self.log.warning("%s: %s", printable(source.name), printable(str(why)))
        except Unreadable as why:
            self.log.warning("%s", printable(str(why)))
