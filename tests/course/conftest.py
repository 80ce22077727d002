"""Fixtures for the tests of the course's own tools."""

import importlib.util
from pathlib import Path

import pytest


def _load(name: str):
    """A helper module beside this file: with `--import-mode=importlib` it cannot be imported."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def server():
    """A web server on this machine: `url = server.add("/name", data, ranges=False)`."""
    with _load("loopback").Server() as running:
        yield running
