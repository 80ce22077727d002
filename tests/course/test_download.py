"""The dataset downloader against a loopback server that fails the way real servers do."""

import dataclasses
import hashlib
import io
import json
import lzma
import os
import shutil
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from requests.exceptions import SSLError

import course
from course.cli.data import data
from course.data import data_folder, download, fetch, sources
from course.data.download import obtain
from course.data.fetch import DataError, Transient, Unreachable
from course.data.sources import Dataset

PAGE = b"<!DOCTYPE html><html><body>Moved, or gone, or log in first.</body></html>"


def lines(seed: str, count: int = 5000) -> bytes:
    """Text that hardly compresses, about 70 bytes a line."""
    rows = (hashlib.sha256(f"{seed} {row}".encode()).hexdigest() for row in range(count))
    return "".join(f"{seed} {row}\n" for row in rows).encode()


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def zipped(compression=zipfile.ZIP_DEFLATED, **members: bytes) -> bytes:
    """A zip of `members`; `_` in a keyword stands for `.` in the member's name."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression, compresslevel=1) as archive:
        for name, content in members.items():
            archive.writestr(name.replace("_", "."), content)
    return buffer.getvalue()


TEXT = lines("original")
OTHER = TEXT + b"<unk> and a row more\n"
DEEP = lines("z", 40_000)
ZIP = zipped(a_txt=DEEP, plays_txt=TEXT, z_txt=lines("z"))
FIRST_ZIP = zipped(plays_txt=TEXT, z_txt=DEEP)
HEAD = zipfile.ZipFile(io.BytesIO(FIRST_ZIP)).infolist()[1].header_offset


def dataset(*places: str, **facts) -> Dataset:
    usual = {
        "mirror": ["plays.txt", "input.txt", "plays.txt.xz", "plays.zip", "all.zip"],
        "versions": {"original": sha(TEXT), "Hugging Face version": sha(OTHER)},
    }
    return Dataset(
        "glove-50d", "a test", "plays.txt", len(TEXT), sources=[*places], **usual | facts
    )


def unpublished(*places: str, **facts) -> Dataset:
    """A dataset whose original is known by its zip only."""
    versions = {"Hugging Face version": sha(OTHER)}
    zip_facts = {"zip_size": len(ZIP), "zip_sha256": sha(ZIP)}
    return dataset(*places, versions=versions, **zip_facts | facts)


@pytest.fixture
def heard(capsys):
    """heard(): what was printed since the last call."""
    return lambda: capsys.readouterr().out


@pytest.fixture(autouse=True)
def hurry(monkeypatch):
    """No waiting, and no proxy or mirror of the machine that runs the tests."""
    monkeypatch.setattr(fetch, "WAITS", (0, 0, 0))
    monkeypatch.setattr(fetch, "TIMEOUT", (5, 5))
    monkeypatch.setattr(download, "TAIL", 1000)
    for name in ("COURSE_MIRROR", "COURSE_DATA", "http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def hidden(folder: Path) -> list[str]:
    """What is left in the hidden folder, locks aside."""
    return sorted(p.name for p in (folder / ".partial").iterdir() if p.suffix != ".lock")


def fetched(wanted: Dataset, folder: Path, mirror=None) -> None:
    """Fetch it, and see that it is whole and that nothing else is left."""
    assert obtain(wanted, folder, mirror) == folder / "plays.txt"
    assert (folder / "plays.txt").read_bytes() == TEXT
    assert hidden(folder) == []


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
    fetched(wanted, tmp_path)
    (request,) = server.requests
    assert request.headers["Accept-Encoding"] == "identity"  # or positions would be others
    assert "already there and whole (original)" in heard()


def test_damaged_file_is_replaced_and_that_is_said_once(server, tmp_path, heard):
    (tmp_path / "plays.txt").write_bytes(TEXT[:-1] + b"?")
    fetched(dataset(server.add("/p", TEXT)), tmp_path)
    assert heard().count("there, but not as published") == 1


def test_first_source_that_works_is_used_and_the_others_are_explained(server, tmp_path, heard):
    forbidden = server.add("/no", TEXT, faults=[("status", 403)] * 9)
    bad = server.add("/bad", TEXT.replace(b"1", b"2"))
    fetched(dataset(server.url + "/gone", forbidden, bad, server.add("/p", TEXT)), tmp_path)
    told = heard()
    assert "/gone: the server answered 404" in told
    assert "/no: the server answered 403" in told
    assert "/bad: what it holds is no published version" in told
    assert len(server.requests) == 4  # none of these is worth a second try


def test_url_that_cannot_be_reached_is_tried_once_and_failing_is_one_sentence(server, tmp_path):
    wanted = dataset(server.url + "/gone.zip", heads={"gone.zip": 9})
    assert "none of the known sources" in failure(wanted, tmp_path)
    assert len(server.requests) == 1


# --- interruptions ---------------------------------------------------------------------------


@pytest.mark.parametrize("etag", ['"1"', 'W/"1"', ""], ids=["strong", "weak", "none"])
def test_broken_connection_goes_on_where_it_stopped(server, tmp_path, etag):
    """A server must not send a part if it is asked for by a weak ETag."""
    url = server.add("/p", TEXT, etag=etag, faults=[("cut", 200_000), ("cut", 70_000)])
    fetched(dataset(url), tmp_path)
    first, second = (int(asked[6:].split("-")[0]) for asked in server.ranges()[1:])
    assert 100_000 < first <= 200_000 < second
    assert server.served < len(TEXT) + 170_000
    assert server.requests[-1].headers.get("If-Range") == (etag if etag == '"1"' else None)


@pytest.mark.parametrize("faults", [[("cut", 70_000)] * 5, [("status", 503), ("cut", 9)]])
def test_many_interruptions_with_progress_are_endured(server, tmp_path, faults):
    fetched(dataset(server.add("/p", TEXT, faults=faults)), tmp_path)


def test_server_without_range_starts_again_cleanly(server, tmp_path):
    fetched(dataset(server.add("/p", TEXT, ranges=False, faults=[("cut", 200_000)])), tmp_path)


def test_endless_interruptions_without_range_end(server, tmp_path, heard):
    url = server.add("/p", TEXT, ranges=False, faults=[("cut", 200_000)] * 99)
    failure(dataset(url), tmp_path)
    assert "gave up" in heard()
    assert len(server.requests) < 8


def leave_part(server, wanted: Dataset, folder: Path, content: bytes | None = None) -> None:
    """Let a run fail in the midst of the text; put `content`, if any, where it left that."""
    file = next(iter(server.files.values()))
    file.faults += [("cut", 150_000)] + [("status", 503)] * 9
    failure(wanted, folder)
    file.faults = []
    if content is not None:
        next((folder / ".partial").glob("*.part")).write_bytes(content)


def test_changed_file_is_fetched_from_its_beginning(server, tmp_path):
    wanted = dataset(server.add("/p", lines("older"), etag='"old"'))
    leave_part(server, wanted, tmp_path)
    server.add("/p", TEXT, etag='"new"')
    before = server.served
    fetched(wanted, tmp_path)
    assert server.requests[-1].headers["If-Range"] == '"old"'
    assert server.served - before == len(TEXT)  # in one go, not first a wrong rest


@pytest.mark.parametrize("then", [{"etag": '"new"'}, {"etag": '"old"', "ranges": False}])
def test_zip_that_changed_or_is_no_longer_sent_in_parts_is_fetched_anew(
    server, tmp_path, heard, then
):
    wanted = dataset(server.add("/z.zip", ZIP, etag='"old"', faults=[("cut", 1000)]))
    leave_part(server, wanted, tmp_path)
    server.add("/z.zip", ZIP, **then)
    fetched(wanted, tmp_path)
    assert "damaged" not in heard()


def test_part_that_begins_elsewhere_than_asked_is_refused(server, tmp_path, heard):
    url = server.add("/p", TEXT, faults=[("cut", 150_000), ("late", 5)])
    failure(dataset(url), tmp_path)
    assert "the server sent another part (bytes 131077-" in heard()


@pytest.mark.parametrize(
    "left",
    [b"?" * 1000, b"?" * len(TEXT), TEXT + b"?" * 1000, b"?" + TEXT[1:150_000]],
    ids=["short", "as long", "longer", "first byte"],
)
def test_corrupt_partial_is_thrown_away_and_fetched_once_more(server, tmp_path, left):
    wanted = dataset(server.add("/p", TEXT))
    leave_part(server, wanted, tmp_path, left)
    fetched(wanted, tmp_path)


def test_complete_partial_needs_no_bytes(server, tmp_path):
    wanted = dataset(server.add("/p", TEXT))
    leave_part(server, wanted, tmp_path, TEXT)
    before = server.served
    fetched(wanted, tmp_path)
    assert server.served == before


def test_waits_grow(server, tmp_path, monkeypatch, heard):
    slept = []
    monkeypatch.setattr(fetch, "WAITS", (1, 2, 4, 8))
    monkeypatch.setattr(fetch, "time", SimpleNamespace(sleep=slept.append))
    faults = [("status", 500), ("status", 503), ("status", 429), ("status", 503)]
    fetched(dataset(server.add("/p", TEXT, faults=faults)), tmp_path)
    assert slept == [1, 2, 4, 8]
    assert "trying again in 4 s" in heard()


def test_silence_is_a_timeout_and_tried_again(server, tmp_path, monkeypatch, heard):
    monkeypatch.setattr(fetch, "TIMEOUT", (5, 0.2))
    fetched(dataset(server.add("/p", TEXT, faults=[("stall", 1.0)])), tmp_path)
    assert "no answer within the time allowed" in heard()


@pytest.mark.parametrize(
    "place, why",
    [
        ("http://127.0.0.1:9/p", "the connection failed"),
        ("nonsense://x/p", "the request failed"),
        ("https://127.0.0.1:{port}/p", "TLS error"),  # to a server that speaks http
    ],
)
def test_what_hinders_a_request_is_one_sentence(server, tmp_path, heard, place, why):
    failure(dataset(place.format(port=server.url.rpartition(":")[2])), tmp_path)
    assert why in heard()


@pytest.mark.parametrize(
    "cause, kind, why",
    [
        (
            OSError("[SSL: CERTIFICATE_VERIFY_FAILED] certificate has expired (_ssl.c:1006)"),
            Unreachable,
            "TLS error.*certificate has expired",
        ),
        ("EOF occurred in violation of protocol", Transient, "TLS error"),
    ],
)
def test_expired_certificate_is_named_and_only_a_reset_is_tried_again(cause, kind, why):
    with pytest.raises(kind, match=why), fetch._translated():
        raise SSLError(cause)


def test_proxy_is_used(server, tmp_path, monkeypatch):
    monkeypatch.setenv("http_proxy", server.url)
    server.add("/p", TEXT)
    fetched(dataset("http://far.invalid/p"), tmp_path)
    assert server.requests[0].path == "http://far.invalid/p"


# --- what is not the file --------------------------------------------------------------------


@pytest.mark.parametrize(
    "content_type, page",
    [
        ("text/html; charset=utf-8", b"<!-- no usual beginning --><body>Moved</body>"),
        ("application/octet-stream", PAGE),
    ],
)
def test_web_page_is_recognised(server, tmp_path, heard, content_type, page):
    failure(dataset(server.add("/p", page, content_type=content_type)), tmp_path)
    assert "a web page, not the file" in heard()
    assert len(server.requests) == 1


def test_web_page_does_not_take_the_place_of_what_is_there(server, tmp_path, heard):
    wanted = dataset(server.add("/p", TEXT, etag='"1"'))
    leave_part(server, wanted, tmp_path)
    kept = part_size(tmp_path)
    server.add("/p", PAGE, etag='"2"')
    failure(wanted, tmp_path)
    assert part_size(tmp_path) == kept > 100_000


def test_redirect_is_followed_to_the_file_and_named_with_a_web_page(server, tmp_path, heard):
    page = server.add("/login", PAGE, content_type="text/html")
    there = server.add("/there", TEXT)
    urls = [server.add(f"/{n}", b"", faults=[("redirect", u)]) for n, u in enumerate((page, there))]
    fetched(dataset(*urls), tmp_path)
    assert f"a web page, not the file (redirected to {page})" in heard()


def spoiled(content: bytes, at: int) -> bytes:
    return content[:at] + bytes([content[at] ^ 255]) + content[at + 1 :]


@pytest.mark.parametrize("ranges", [True, False])
@pytest.mark.parametrize(
    "content", [ZIP[:-100_000], spoiled(FIRST_ZIP, HEAD // 2)], ids=["cut", "spoiled"]
)
def test_truncated_or_damaged_zip_is_called_so(server, tmp_path, heard, content, ranges):
    failure(dataset(server.add("/z.zip", content, ranges=ranges)), tmp_path)
    assert "the zip is cut short or damaged" in heard()


def test_full_disk_is_noticed_before_the_first_byte(server, tmp_path, monkeypatch):
    wanted = dataset(server.add("/z.zip", ZIP, ranges=False))
    need = len(ZIP) + wanted.size
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=need - 1))
    assert "too full" in failure(wanted, tmp_path)
    assert hidden(tmp_path) == []
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=need))
    fetched(wanted, tmp_path)
    (tmp_path / "all.zip").write_bytes(ZIP)  # a mirror's file has to be unpacked only
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=len(TEXT) - 1))
    assert "too full" in failure(wanted, tmp_path / "data", str(tmp_path))


def test_destination_that_is_a_file_is_one_sentence(server, tmp_path):
    (tmp_path / "taken").write_text("", "utf-8")
    with pytest.raises(DataError, match="taken"):
        obtain(dataset(server.add("/p", TEXT)), tmp_path / "taken")


# --- zips ------------------------------------------------------------------------------------


@pytest.mark.parametrize("compression", [zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED])
def test_member_is_fetched_without_the_rest_of_the_zip(server, tmp_path, compression):
    content = zipped(compression, a_txt=DEEP, plays_txt=TEXT, z_txt=b"z")
    fetched(dataset(server.add("/z.zip", content)), tmp_path)
    assert server.served < len(content) / 2
    assert None not in server.ranges()


def test_interrupted_member_goes_on_where_it_stopped(server, tmp_path):
    faults = [("cut", 1 << 20), ("cut", 100_000)]
    fetched(dataset(server.add("/z.zip", ZIP, faults=faults)), tmp_path)
    first, resumed = (int(asked[6:].split("-")[0]) for asked in server.ranges()[-2:])
    assert 60_000 < resumed - first <= 100_000


@pytest.mark.parametrize("ranges", [True, False])
def test_first_member_needs_only_the_beginning_of_the_zip(server, tmp_path, ranges):
    url = server.add("/z.zip", FIRST_ZIP, ranges=ranges, pause=0.001)
    fetched(dataset(url, heads={"z.zip": HEAD}), tmp_path)
    assert server.served < len(FIRST_ZIP) / 2


def test_whole_zip_is_the_last_resort(server, tmp_path, heard):
    rigid = server.add("/rigid.zip", ZIP, ranges=False)
    fetched(dataset(rigid, server.add("/z.zip", ZIP)), tmp_path / "one")
    assert server.served < len(ZIP)
    fetched(dataset(rigid), tmp_path / "two")
    assert heard().count("it ignores Range") == 2


def test_zip_that_was_written_as_a_stream_is_fetched_whole(server, tmp_path, heard):
    buffer = io.BytesIO()
    pipe = SimpleNamespace(write=buffer.write, flush=buffer.flush)
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("plays.txt", TEXT)
        archive.writestr("a.txt", b"a")
    fetched(dataset(server.add("/z.zip", buffer.getvalue())), tmp_path)
    assert "tells the length of its member only behind it" in heard()


def test_other_version_is_accepted_and_named(server, tmp_path, heard):
    obtain(dataset(server.add("/z.zip", zipped(plays_txt=OTHER, a_txt=b"a"))), tmp_path)
    assert "ready (Hugging Face version)" in heard()


@pytest.mark.parametrize("ranges", [True, False])
def test_text_without_a_published_hash_is_believed_out_of_its_zip(server, tmp_path, ranges, heard):
    wanted = unpublished(server.add("/z.zip", ZIP, ranges=ranges))
    fetched(wanted, tmp_path)
    assert (tmp_path / "plays.txt.sha256").read_text("utf-8") == f"{sha(TEXT)}  plays.txt\n"
    fetched(wanted, tmp_path)
    assert "already there" in heard()


def test_text_without_a_published_hash_is_not_believed_out_of_another_zip(server, tmp_path, heard):
    by_range = server.add("/1.zip", zipped(plays_txt=TEXT))
    whole = server.add("/2.zip", ZIP.replace(b"a.txt", b"b.txt"), ranges=False)
    failure(unpublished(by_range, whole, server.add("/p", TEXT)), tmp_path)
    assert heard().count("believed only out of the published zip") == 4  # 1.zip in two ways


def test_text_without_a_published_hash_is_not_believed_if_its_crc_differs(server, tmp_path):
    content = zipped(zipfile.ZIP_STORED, plays_txt=TEXT, a_txt=b"a").replace(TEXT, b"?" + TEXT[1:])
    url = server.add("/z.zip", content)
    failure(unpublished(url, zip_size=len(content), zip_sha256=sha(content)), tmp_path)


# --- mirrors ---------------------------------------------------------------------------------

PACKED = {
    "plays.txt": TEXT,
    "input.txt": TEXT,
    "plays.txt.xz": lzma.compress(TEXT, preset=0),
    "plays.zip": zipped(vec_txt=TEXT),
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
    assert "/public" not in [request.path for request in server.requests]


@pytest.mark.parametrize("how", ["folder", "URL", "URL without Range"])
def test_zip_cut_off_after_its_first_member_is_good_enough(server, tmp_path, how):
    (tmp_path / "all.zip").write_bytes(FIRST_ZIP[:HEAD])
    server.add("/all.zip", FIRST_ZIP[:HEAD], ranges=how == "URL")
    place = str(tmp_path) if how == "folder" else server.url
    fetched(dataset(heads={"all.zip": HEAD}), tmp_path / "data", place)


def test_cut_zip_does_not_pass_for_its_member(tmp_path, heard):
    (tmp_path / "all.zip").write_bytes(FIRST_ZIP[: HEAD - 1])
    failure(dataset(heads={"all.zip": HEAD}), tmp_path / "data", str(tmp_path))
    assert heard().count("the zip is cut short or damaged") == 2


@pytest.mark.parametrize(
    "name, content, why",
    [
        ("plays.txt", b"nonsense", "no published version"),
        ("plays.txt.xz", PACKED["plays.txt.xz"][:-99], "the .xz file is cut short"),
        ("plays.txt.xz", b"nonsense", "is no .xz file"),
        ("all.zip", ZIP[:-9], "cut short"),
        ("all.zip", zipped(a_txt=b"a", b_txt=b"b"), "none of them plays.txt"),
    ],
)
def test_wrong_mirror_is_explained_and_nothing_else_tried(
    server, tmp_path, name, content, why, heard
):
    (tmp_path / name).write_bytes(content)
    wanted = dataset(server.add("/public", TEXT))
    sentence = failure(wanted, tmp_path / "data", str(tmp_path))
    assert why in heard()
    assert "with a mirror nothing else is tried" in sentence
    assert not server.requests


def test_empty_mirror_says_what_it_looked_for(server, tmp_path):
    wanted = dataset(server.add("/public", TEXT))
    for mirror in (str(tmp_path), f"{server.url}/empty"):
        assert "looked for: plays.txt, input.txt" in failure(wanted, tmp_path / "data", mirror)
    assert "no folder and no URL" in failure(wanted, tmp_path / "data", str(tmp_path / "nowhere"))


# --- several processes -----------------------------------------------------------------------

RUN = """
import sys
from pathlib import Path
from course.data import fetch, sources
sources.TABLE, fetch.WAITS = Path(sys.argv.pop(1)), (0, 0, 0)
from course.cli.data import data
data()
"""


def write_table(path: Path, *datasets: Dataset) -> Path:
    """The datasets as `sources.toml` has them."""
    rows = []
    for wanted in datasets:
        facts = dataclasses.asdict(wanted)
        rows.append(f"[{facts.pop('name')}]")
        rows += [f"{name} = {toml(fact)}" for name, fact in facts.items() if fact is not None]
    path.write_text("\n".join(rows), "utf-8")
    return path


def toml(fact) -> str:
    if not isinstance(fact, dict):
        return json.dumps(fact)
    return "{" + ", ".join(f"{json.dumps(name)} = {toml(one)}" for name, one in fact.items()) + "}"


def start(table: Path, *arguments: str) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-c", RUN, str(table), *arguments],
        cwd=course.ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
    )


def part_size(folder: Path) -> int:
    return sum(part.stat().st_size for part in folder.glob(".partial/*.part"))


def test_killed_run_is_resumed_with_only_the_missing_bytes(server, tmp_path):
    url = server.add("/p", TEXT, etag='"1"', pause=0.05)
    table = write_table(tmp_path / "t.toml", dataset(url))
    first = start(table, "glove", "--dest", str(tmp_path))
    while part_size(tmp_path) < 100_000:
        assert first.poll() is None
        time.sleep(0.01)
    first.kill()  # SIGKILL
    first.communicate()
    assert not (tmp_path / "plays.txt").exists()
    kept = part_size(tmp_path)
    server.files["/p"].pause = 0
    second = start(table, "glove", "--dest", str(tmp_path))
    output, _ = second.communicate(timeout=30)
    assert second.returncode == 0, output
    assert "going on after" in output
    assert 100_000 <= kept < len(TEXT)
    assert [request.sent for request in server.requests[1:]] == [len(TEXT) - kept]
    assert (tmp_path / "plays.txt").read_bytes() == TEXT


def test_two_runs_at_once_fetch_once(server, tmp_path):
    url = server.add("/z.zip", ZIP, pause=0.02)
    table = write_table(tmp_path / "t.toml", dataset(url))
    runs = [start(table, "glove", "--dest", str(tmp_path)) for _ in range(2)]
    outputs = [run.communicate(timeout=60)[0] for run in runs]
    assert [run.returncode for run in runs] == [0, 0], outputs
    assert len(server.requests) == 2  # for the directory and the member
    assert sum("already there" in output for output in outputs) == 1


# --- the command -----------------------------------------------------------------------------


@pytest.fixture
def run(server, tmp_path, monkeypatch):
    """Run `course data ...` on two small datasets."""
    plays = dataset(server.add("/p", TEXT))
    other = unpublished(server.add("/z.zip", ZIP))
    tiny = dataclasses.replace(plays, name="tinyshakespeare", file="tiny.txt", mirror=["tiny.txt"])
    large = dataclasses.replace(other, name="glove-200d", file="z.txt", mirror=["z.txt"])
    table = write_table(tmp_path / "t.toml", tiny, plays, large)
    monkeypatch.setattr(sources, "TABLE", table)
    monkeypatch.setenv("COURSE_DATA", str(tmp_path / "data"))
    return lambda *arguments: CliRunner().invoke(data, arguments)


def test_all_is_tinyshakespeare_and_small_glove(run, tmp_path):
    result = run("all")
    assert result.exit_code == 0, result.output
    assert sorted(p.name for p in (tmp_path / "data").glob("*.txt")) == ["plays.txt", "tiny.txt"]
    assert "%" not in result.output  # no progress bar where nobody is looking
    assert run("all", "--dim", "100").exit_code == 2


def test_check_tells_ok_missing_damaged_and_unknown(run, tmp_path):
    folder = tmp_path / "data"
    assert run("--check").output.count("missing") == 3
    run("all")
    (folder / "z.txt").write_bytes(b"from a friend")
    unknown = run("--check")
    assert unknown.exit_code == 0
    assert "unknown" in unknown.output
    run("glove", "--dim", "200")
    good = run("--check")
    assert good.exit_code == 0
    assert good.output.count("ok (original)") == 3
    (folder / "plays.txt").write_bytes(OTHER)
    assert "ok (Hugging Face version)" in run("--check").output
    for name in ("plays.txt", "z.txt"):
        (folder / name).write_bytes(b"?" * len(TEXT))
    bad = run("--check")
    assert bad.exit_code == 1
    assert bad.output.count("damaged (") == 2
    assert run("--check", "tinyshakespeare").exit_code == 0


def test_without_arguments_it_lists(run, server):
    assert run().output == run("--list").output
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
    assert "stopped; run the same command to go on" in result.output


def test_help_needs_no_http_library():
    code = (
        "import sys, course.cli.data; "
        "sys.exit(bool({'requests', 'filelock', 'torch'} & {*sys.modules}))"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=course.ROOT).returncode == 0


def test_published_table_names_hashes_and_the_data_folder_follows_the_environment(monkeypatch):
    for wanted in sources.load().values():
        hashes = [*wanted.versions.values(), *[wanted.zip_sha256] * bool(wanted.zip_size)]
        assert all(len(bytes.fromhex(digest)) == 32 for digest in hashes)
        assert wanted.file == wanted.mirror[0]
    assert data_folder() == course.ROOT / "data"
    monkeypatch.setenv("COURSE_DATA", "/elsewhere")
    assert data_folder() == Path("/elsewhere")


# --- datasets.sh -----------------------------------------------------------------------------

no_shell = os.name == "nt" or shutil.which("sh") is None
needs_sh = pytest.mark.skipif(no_shell, reason="needs a POSIX shell")


@pytest.fixture
def checkout(tmp_path, server) -> Path:
    """A copy of the downloader in a folder with a space and an umlaut, with one small dataset."""
    root = tmp_path / "a cöurse"
    for package in ("cli", "data", "system"):
        shutil.copytree(course.ROOT / "course" / package, root / "course" / package)
    for name in ("__init__.py", "syllabus.py", "syllabus.toml"):
        shutil.copy(course.ROOT / "course" / name, root / "course")
    shutil.copy(course.ROOT / "datasets.sh", root)
    write_table(root / "course/data/sources.toml", dataset(server.add("/p", TEXT)))
    return root


def shell(checkout: Path, cwd: Path, python: str, *arguments: str) -> subprocess.CompletedProcess:
    """Run datasets.sh in `cwd` with a `python3` that is the shell command `python`."""
    programs = cwd / "programs"
    programs.mkdir(parents=True, exist_ok=True)
    (programs / "python3").write_text(f"#!/bin/sh\n{python}\n", "utf-8")
    (programs / "python3").chmod(0o755)
    return subprocess.run(
        ["sh", str(checkout / "datasets.sh"), *arguments],
        cwd=cwd,
        env=os.environ | {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        encoding="utf-8",
    )


THIS_PYTHON = f'exec "{sys.executable}" "$@"'


@needs_sh
def test_shell_script_works_from_anywhere_with_relative_paths(checkout, tmp_path):
    cwd = tmp_path / "sömewhere else"
    (cwd / "my mirrör").mkdir(parents=True)
    (cwd / "my mirrör" / "plays.txt").write_bytes(TEXT)
    (cwd / "course").mkdir()
    (cwd / "course" / "__init__.py").write_text("raise ImportError('wrong one')", "utf-8")
    result = shell(
        checkout, cwd, THIS_PYTHON, "glove", "--mirror", "my mirrör", "--dest", "öut here"
    )
    assert result.returncode == 0, result.stderr
    assert (cwd / "öut here" / "plays.txt").read_bytes() == TEXT


@needs_sh
def test_shell_script_prefers_the_course_s_own_environment_and_folder(checkout, tmp_path):
    own = checkout / ".venv" / "bin" / "python"
    own.parent.mkdir(parents=True)
    own.write_text(f"#!/bin/sh\n{THIS_PYTHON}\n", "utf-8")
    own.chmod(0o755)
    assert shell(checkout, tmp_path / "d", "exit 1", "glove").returncode == 0
    assert (checkout / "data" / "plays.txt").read_bytes() == TEXT
    assert os.access(checkout / "datasets.sh", os.X_OK)


@needs_sh
def test_shell_script_without_packages_says_so(checkout, tmp_path):
    result = shell(checkout, tmp_path / "c", "exit 1", "--list")
    assert result.returncode == 1
    assert result.stderr.count("\n") == 1 and "with the course's packages" in result.stderr


# --- the real data ---------------------------------------------------------------------------


@pytest.mark.slow
def test_real_data_out_of_a_cut_zip_and_an_xz(server, tmp_path):
    folder = os.environ.get("COURSE_REAL_DATA")
    if not folder:
        pytest.skip("set COURSE_REAL_DATA to a folder with the real files to run this")
    glove = sources.load()["glove-50d"]
    text = obtain(glove, tmp_path / "from xz", folder).read_bytes()
    packed = subprocess.run(["gzip", "-6", "-n"], input=text, capture_output=True).stdout[10:-8]
    header = (Path(folder) / "glove.6B.zip.head74.bin").read_bytes()
    server.add("/glove.6B.zip", header + packed, ranges=False)
    assert len(header + packed) == 69_182_559
    assert obtain(glove, tmp_path / "from zip", server.url).read_bytes() == text
