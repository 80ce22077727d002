"""One HTTP request: its answer, or why there is none, in one sentence."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain

from course.data.errors import Absent, Transient, Unavailable, Unreachable

TIMEOUT = (10, 30)  # seconds to connect, seconds of silence
CHUNK = 1 << 16
PAGE_BEGINNINGS = (b"<!doctype html", b"<html")


@contextmanager
def ask(url: str, headers: dict[str, str]):
    """A reply to GET that can be read: status 200, 206 or 416, and not a web page."""
    import requests  # here, because `course --help` need not wait for it

    # `identity`: a body compressed on the way has other positions than the file.
    headers = {"Accept-Encoding": "identity", "User-Agent": "what-and-where course"} | headers
    with translated():
        reply = requests.get(url, headers=headers, stream=True, timeout=TIMEOUT)
    with reply:
        _check_status(reply)
        _check_range(reply, headers.get("Range", ""))
        _check_no_web_page(reply)
        yield reply


def _check_status(reply) -> None:
    code = reply.status_code
    answer = f"the server answered {code} {reply.reason or ''}".rstrip()
    if code in (404, 410):
        raise Absent(answer)
    if code in (408, 425, 429) or code >= 500:
        raise Transient(answer)
    if code not in (200, 206, 416):
        raise Unreachable(answer)


def _check_range(reply, asked: str) -> None:
    """A part that begins elsewhere than asked would spoil the file silently."""
    sent = reply.headers.get("Content-Range", "")
    first = asked.removeprefix("bytes=").split("-")[0]
    if reply.status_code == 206 and first and not sent.startswith(f"bytes {first}-"):
        raise Unavailable(f"the server sent another part ({sent or 'unnamed'}) than asked for")


def _check_no_web_page(reply) -> None:
    if reply.status_code != 416 and "html" in reply.headers.get("Content-Type", ""):
        raise _web_page(reply)


def _web_page(reply) -> Unreachable:
    via = f" (redirected to {reply.url})" if reply.history else ""
    return Unreachable(f"the server sent a web page, not the file{via}")


def total_size(reply) -> int | None:
    """The size of the whole file that a reply is, or is a part of, if the server tells."""
    if reply.status_code == 200:
        encoded = "Content-Encoding" in reply.headers  # then the length is that of other bytes
        size = "" if encoded else reply.headers.get("Content-Length", "")
    else:
        size = reply.headers.get("Content-Range", "").rpartition("/")[2]
    return int(size) if size.isdecimal() else None


def body_of(reply) -> Iterator[bytes]:
    """The reply's bytes. Some servers call a web page an ordinary file: look at its start."""
    chunks = reply.iter_content(CHUNK)
    with translated():
        first = next(chunks, b"")
    if reply.status_code == 200 and first.lstrip()[:14].lower().startswith(PAGE_BEGINNINGS):
        raise _web_page(reply)
    return chain([first], chunks)


@contextmanager
def translated() -> Iterator[None]:
    """Turn what `requests` raises into one sentence, and into what is worth another try."""
    from requests import exceptions as broken

    try:
        yield
    except broken.SSLError as error:
        if "certificate" in str(error).lower():
            raise Unreachable(f"TLS error, {_reason(error)}") from None
        raise Transient(f"TLS error, {_reason(error)}") from None
    except broken.ProxyError as error:
        raise Transient(f"the proxy does not let us through ({_reason(error)})") from None
    except broken.Timeout:
        raise Transient("no answer within the time allowed") from None
    except (broken.ConnectionError, broken.ChunkedEncodingError) as error:
        if "resolve" in str(error):
            raise Unreachable("the server's name is unknown here: is there a network?") from None
        raise Transient(f"the connection failed ({_reason(error)})") from None
    except broken.RequestException as error:
        raise Unreachable(f"the request failed ({_reason(error)})") from None


def _reason(error: Exception) -> str:
    """The innermost thing that an error of requests wraps: the part that a person can use."""
    inner = error
    while nested := [e for e in (getattr(inner, "reason", None), *inner.args) if _is_error(e)]:
        inner = nested[0]
    return str(inner).rpartition(": ")[2].strip("()'\" ") or type(inner).__name__


def _is_error(thing: object) -> bool:
    return isinstance(thing, Exception)
