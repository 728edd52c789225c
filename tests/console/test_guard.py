"""Who may reach the console, asked over plain HTTP: hosts, origins, passwords. And what it says to browsers about itself."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest

from headrace.admin.errors import Problem
from headrace.console.guard import _local_path
from headrace.console.settings import ConsoleSettings
from headrace.testing.clients import Clients
from headrace.testing.console import RunningConsole, console_process
from tests.console.conftest import NOWHERE

PAGE = {"Accept": "text/html"}
SOCKET = "/_nicegui_ws/socket.io/?EIO=4&transport=polling"


def ask(url: str, path: str, method: str = "GET", body: str | None = None, **headers: str) -> tuple[int, Any, bytes]:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=20)
    try:
        connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()


def test_a_page_answers_with_headers_that_keep_strangers_out(console: RunningConsole) -> None:
    status, headers, body = ask(console.url, "/", **PAGE)
    assert status == 200 and b"Headrace" in body
    assert headers["X-Frame-Options"] == "DENY" and headers["X-Content-Type-Options"] == "nosniff"
    policy = headers["Content-Security-Policy"]
    assert "default-src 'self'" in policy and "frame-ancestors 'none'" in policy and "http:" not in policy
    assert "Server" not in headers


def test_nothing_is_loaded_from_elsewhere(console: RunningConsole) -> None:
    body = ask(console.url, "/", **PAGE)[2].decode()
    for mark in ('src="http', 'href="http', "url(http", 'from "http'):
        assert mark not in body


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8080", "127.0.0.1.evil.example", ""])
@pytest.mark.parametrize("path", ["/", SOCKET])
def test_a_name_that_somebody_pointed_at_this_machine_is_refused(console: RunningConsole, host: str, path: str) -> None:
    assert ask(console.url, path, Host=host)[0] == 400


@pytest.mark.parametrize("path", ["/", SOCKET, "/_nicegui_ws/socket.io/?EIO=4&transport=websocket"])
def test_pages_of_other_sites_are_refused(console: RunningConsole, path: str) -> None:
    assert ask(console.url, path, Origin="https://evil.example")[0] == 403
    assert ask(console.url, path, Origin="null")[0] == 403


def test_a_websocket_of_another_site_is_refused(console: RunningConsole) -> None:
    upgrade = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec_WebSocket_Version": "13",
        "Sec_WebSocket_Key": "dGhlIHNhbXBsZSBub25jZQ==",
    }
    path = SOCKET.replace("polling", "websocket")
    assert ask(console.url, path, **upgrade, Origin="https://evil.example")[0] == 403
    assert ask(console.url, path, **upgrade, Origin=console.url)[0] == 101


def test_bodies_have_a_bound(console: RunningConsole) -> None:
    assert ask(console.url, "/", "POST", "", Content_Length=str(50 << 20))[0] == 413
    assert ask(console.url, "/", "POST", "", Transfer_Encoding="chunked")[0] == 411


@pytest.fixture(scope="module")
def locked(kafka: Clients, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningConsole]:
    file = tmp_path_factory.mktemp("secret") / "password"
    file.write_text("open sesame\n")
    with console_process(kafka.bootstrap_servers, *NOWHERE, "--password-file", str(file)) as running:
        yield running


def test_without_the_password_there_is_only_the_login(locked: RunningConsole) -> None:
    status, headers, _ = ask(locked.url, "/topics", **PAGE)
    assert status == 303 and headers["Location"] == "/login?next=/topics"
    assert ask(locked.url, SOCKET)[0] == 401
    assert ask(locked.url, "/_nicegui/anything")[0] == 401
    status, _, body = ask(locked.url, "/login?next=/topics", **PAGE)
    assert status == 200 and b"password" in body


def test_the_password_opens_it_and_logging_out_closes_it(locked: RunningConsole) -> None:
    form = {"Content_Type": "application/x-www-form-urlencoded"}
    wrong = urlencode({"password": "open sesam", "next": "/topics"})
    assert ask(locked.url, "/login", "POST", wrong, **form)[0] == 401
    right = urlencode({"password": "open sesame", "next": "/topics"})
    status, headers, _ = ask(locked.url, "/login", "POST", right, **form)
    assert (status, headers["Location"]) == (303, "/topics")
    cookie = headers["Set-Cookie"]
    assert "HttpOnly" in cookie and "SameSite=strict" in cookie
    value = cookie.partition(";")[0]
    assert ask(locked.url, "/topics", **PAGE, Cookie=value)[0] == 200
    assert ask(locked.url, "/topics", **PAGE, Cookie=value[:-1] + "x")[0] == 303
    assert ask(locked.url, "/topics", **PAGE, Cookie="headrace_console=99999999999.aa")[0] == 303
    assert 'headrace_console="";' in ask(locked.url, "/logout", **PAGE)[1]["Set-Cookie"]


def test_programs_send_the_password_as_a_token(locked: RunningConsole) -> None:
    assert ask(locked.url, "/topics", Authorization="Bearer open sesame")[0] == 200
    assert ask(locked.url, "/topics", Authorization="Bearer öpen sesame".encode().decode("latin-1"))[0] == 401


def test_a_login_from_another_site_is_refused(locked: RunningConsole) -> None:
    body = urlencode({"password": "open sesame"})
    assert ask(locked.url, "/login", "POST", body, Origin="https://evil.example")[0] == 403


@pytest.mark.parametrize(
    "target", ["//evil.example", "/\\evil.example", "https://evil.example", "/%2Fevil", "/a\nb", ""]
)
def test_a_login_leads_nowhere_else(target: str) -> None:
    assert _local_path(target) == "/"


def test_beyond_this_machine_it_takes_a_password(tmp_path: Path) -> None:
    with pytest.raises(Problem, match="needs a password"):
        ConsoleSettings("127.0.0.1:9092", host="0.0.0.0").check()
    ConsoleSettings("127.0.0.1:9092", host="0.0.0.0", password="x").check()
    assert ConsoleSettings("b", allowed_hosts=("console.example",)).hosts()[-1] == "console.example"
    assert "*" not in ConsoleSettings("b", host="0.0.0.0", password="x", allowed_hosts=("c.example",)).hosts()
