"""`nbgrader collect` and `zip_collect`, where they take what other people's folders hold."""

import os
import secrets
from datetime import datetime
from pathlib import Path
from typing import Any

from nbgrader.exchange.default import ExchangeCollect
from nbgrader.plugins import ExtractorPlugin, FileNameCollectorPlugin

from course.grading.nbgrader.submissions import (
    MAX_FILE_BYTES,
    PLAIN,
    SECRET,
    TIME,
    NotRead,
    is_plain,
    lesson_of,
    read_file,
    time_in,
)
from course.grading.submissions import SubmissionsError
from course.grading.submissions.archives import is_archive
from course.grading.submissions.file_names import platform_name
from course.grading.submissions.process import read_class


class Collect(ExchangeCollect):
    """`nbgrader collect`, which takes only files in a student's own folder.

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
        why = f"it is not a folder called STUDENT+ASSIGNMENT+TIME+..., where {PLAIN}"
        self.log.warning("%r was not collected: %s", name, why)
        return {"username": "", "filename": name, "timestamp": datetime.min}

    def do_copy(self, src: str, dest: str, log: object = None) -> None:
        """Copy the files that were released, as they were handed in; of others nothing is graded.

        If a file cannot be read, by no fault of the student's, nothing is copied. The time is that
        in the folder's name, by which nbgrader finds the latest submission. A secret that is
        missing, without which nbgrader releases nobody's feedback, is made up.
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
            except NotRead as why:
                self.log.warning("%r: %s", os.path.basename(src), why)
            except OSError as why:
                self.log.error("%r was not collected: %s", os.path.basename(src), why)
                return
        files[TIME] = src.rsplit("+", 3)[2].encode()
        os.makedirs(dest)
        for name, data in files.items():
            Path(dest, name).write_bytes(data)


class Extractor(ExtractorPlugin):
    """The part of `nbgrader zip_collect` that opens what a learning platform gave.

    nbgrader's own believes names of files in students' zips, so that anybody could hand in for
    anybody, and one zip that is damaged, or huge, stops it for all.
    """

    def extract(self, archive_path: str, extracted_path: str) -> None:
        """Write each student's module and notebook to a folder with the student's name."""
        lesson = lesson_of(self.parent.coursedir.assignment_id)
        if lesson is None:
            super().extract(archive_path, extracted_path)
            return
        given = [*Path(archive_path).iterdir()]
        is_of_class = [is_archive(one.name) and not platform_name(one.name) for one in given]
        of_class = given[0] if is_of_class == [True] else archive_path
        name = lesson.notebook.stem
        try:
            found = read_class(of_class, notebook=name)
        except SubmissionsError as error:
            self.parent.fail(str(error))
        for one in found:
            for sentence in one.notes:
                self.log.warning("%s: %s", one.student, sentence)
            if not is_plain(one.student):
                self.log.error("%r was not collected: %s", one.student, PLAIN)
                continue
            if why := one.unread.get(lesson.stem):
                self.log.error("%s was not collected: %s", one.student, why)
                continue
            files = {
                f"{lesson.stem}.py": one.modules.get(lesson.stem),
                f"{name}.ipynb": one.notebook,
            }
            for file, data in files.items():
                if data is not None:
                    path = Path(extracted_path, one.student, file)
                    path.parent.mkdir(exist_ok=True)
                    path.write_bytes(data)


class Collector(FileNameCollectorPlugin):
    """The part of `nbgrader zip_collect` that takes the student from the folder's name."""

    def collect(self, submitted_file: str) -> dict[str, str] | None:
        """Return the student and the name of a file that `Extractor` wrote; None for any other."""
        lesson = lesson_of(self.parent.coursedir.assignment_id)
        if lesson is None:
            return super().collect(submitted_file)
        path = Path(submitted_file)
        is_expected = path.name in (f"{lesson.stem}.py", f"{lesson.notebook.stem}.ipynb")
        if not is_expected or not is_plain(path.parent.name) or path.is_symlink():
            return None
        return {"student_id": path.parent.name, "file_id": path.name}
