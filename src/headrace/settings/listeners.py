"""Listeners as settings name them: `NAME://host:port`, with the security protocol each name stands for."""

from __future__ import annotations

import re
from collections.abc import Iterable
from ipaddress import ip_address
from typing import NamedTuple

from headrace.settings.definition import SettingError

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_LISTENER = re.compile(r"([A-Za-z][A-Za-z0-9_.-]*)://(?:\[([0-9A-Fa-f:.%]+)\]|([^\[\]:/]*)):(-?[0-9]+)")


class Listener(NamedTuple):
    name: str
    host: str  # empty: every address
    port: int
    protocol: str

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.name}://{host}:{self.port}"


def parse_protocol_map(setting: str, text: str) -> dict[str, str]:
    """`A:PLAINTEXT,B:SSL` as a mapping of upper-case listener names."""
    result: dict[str, str] = {}
    for item in filter(None, (part.strip() for part in text.split(","))):
        name, separator, protocol = item.partition(":")
        if not separator or protocol.strip().upper() not in PROTOCOLS:
            raise SettingError(setting, f"{item!r} is not NAME:PROTOCOL with a protocol of {', '.join(PROTOCOLS)}")
        result[name.strip().upper()] = protocol.strip().upper()
    return result


def parse_listeners(setting: str, items: Iterable[str], protocols: dict[str, str]) -> list[Listener]:
    """The listeners of a list such as `PLAINTEXT://:9092`; names and fixed ports must not repeat."""
    result: list[Listener] = []
    for item in items:
        match = _LISTENER.fullmatch(item.strip())
        if match is None:
            raise SettingError(setting, f"{item!r} is not NAME://host:port")
        name, host, port = match[1].upper(), match[2] or match[3] or "", int(match[4])
        if not 0 <= port <= 65535:
            raise SettingError(setting, f"{item!r} has no port between 0 and 65535")
        if name not in protocols:
            raise SettingError(setting, f"{name} has no security protocol in listener.security.protocol.map")
        result.append(Listener(name, host, port, protocols[name]))
    _check_distinct(setting, result)
    return result


def _check_distinct(setting: str, listeners: list[Listener]) -> None:
    names = [listener.name for listener in listeners]
    if len(set(names)) != len(names):
        raise SettingError(setting, "each listener needs a name of its own")
    # One port on an IPv4 and on an IPv6 address is two sockets; on the same address it is a mistake.
    sockets = [(listener.host, listener.port) for listener in listeners if listener.port]
    if setting == "listeners" and len(set(sockets)) != len(sockets):
        raise SettingError(setting, "two listeners have the same address and port")


def parse_ip_overrides(setting: str, text: str) -> dict[str, int]:
    """`host:count,host:count`; an IPv6 address keeps its colons, the count is after the last one."""
    result: dict[str, int] = {}
    for item in filter(None, (part.strip() for part in text.split(","))):
        host, separator, count = item.rpartition(":")
        if not separator or not host or not count.strip().isdigit():
            raise SettingError(setting, f"{item!r} is not host:count")
        result[_plain(host.strip().strip("[]"))] = int(count)
    return result


def _plain(host: str) -> str:
    """An address as sockets print it; a name as it is."""
    try:
        return str(ip_address(host))
    except ValueError:
        return host


class HostCounts:
    """A bound on a text: it must be a list of host:count."""

    def problem(self, value: str) -> str | None:
        try:
            parse_ip_overrides("", value)
        except SettingError:
            return f"must be {self}"
        return None

    def __str__(self) -> str:
        return "a list of host:count"
