"""A real browser for tests: Debian's Chromium, driven by Playwright. Installed where that is allowed; a test that cannot have one says why it is skipped."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

# No sandbox as root, and no calls home: what a browser asks of its maker is nothing that a test is about.
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
_NAMES = ("chromium", "chromium-browser", "google-chrome")


def find() -> str | None:
    chosen = os.environ.get("HEADRACE_CHROMIUM")
    return chosen or next((path for name in _NAMES if (path := shutil.which(name))), None)


def require() -> str:
    """The browser's path. Where there is none, root on Debian gets one; anybody else a skip that says what is missing."""
    found = find()
    if found is None and os.geteuid() == 0 and shutil.which("apt-get"):
        found = _install()
    if found is None:
        reason = "no Chromium here, and installing it needs root on Debian: apt-get install chromium"
        if os.environ.get("HEADRACE_REQUIRE_PEERS") == "1":
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)
    return found


def _install() -> str | None:
    """One process installs, the others of a parallel run wait for it."""
    with open(Path(tempfile.gettempdir()) / "headrace-chromium.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (found := find()) is None:
            print("installing Chromium for the tests of the console (apt-get install chromium) ...", flush=True)
            environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
            for command in (["apt-get", "update", "-q"], ["apt-get", "install", "-q", "-y", "chromium"]):
                subprocess.run(command, env=environment, capture_output=True, check=False)
            found = find()
    return found


@contextmanager
def chromium() -> Iterator[Any]:
    path = require()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()
