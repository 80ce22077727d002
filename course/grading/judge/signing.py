"""Signatures: a grader believes only kept results that it wrote itself.

A student can hand in a folder that looks like the grader's own, with full points. What it lacks are
signatures by a secret that only this user of this machine has.
"""

import contextlib
import functools
import hmac
import os
import secrets
import stat
from pathlib import Path

import click

SECRET_BYTES = 32


def sign(text: str) -> str:
    """Return the signature of a text, as digits."""
    return hmac.new(own_secret(), text.encode("utf-8", "surrogatepass"), "sha256").hexdigest()


def is_signed(text: str, signature: str) -> bool:
    """Tell whether a signature is this user's, of this text."""
    return hmac.compare_digest(sign(text).encode(), signature.encode("utf-8", "surrogatepass"))


@functools.cache
def own_secret() -> bytes:
    """Return the user's secret; make one if there is none.

    Where none can be kept, it lasts as long as this process, and results are graded again.
    """
    path = Path(click.get_app_dir("what-and-where"), "grader.key")
    secret = secrets.token_bytes(SECRET_BYTES)
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    if not path.is_absolute():  # without a home it would be in the current folder: a student's?
        return secret
    with contextlib.suppress(OSError):
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            new = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
            with open(os.open(draft, new, 0o600), "wb") as file:
                file.write(secret)
            with contextlib.suppress(FileExistsError):  # another grader was faster
                os.link(draft, path)
            draft.unlink()
        return _kept_secret(path) or secret
    return secret


def _kept_secret(path: Path) -> bytes:
    """Return the secret in a file that nobody else can read or write; empty if it is not such."""
    with open(path, "rb") as file:
        status = os.fstat(file.fileno())
        is_shared = os.name == "posix" and (
            status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) & 0o077
        )
        kept = file.read(SECRET_BYTES)
    return kept if len(kept) == SECRET_BYTES and not is_shared else b""
