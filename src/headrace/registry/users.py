"""Who may use the registry: names, passwords and roles from a file, and basic authentication against them.

```
# name: password, role
app: scrypt$16384$8$1$0f…$9c…, readwrite
reader: plain-text-password, readonly
```
"""

from __future__ import annotations

import base64
import binascii
import enum
import hashlib
import hmac
import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass

from headrace.registry.errors import StartFailure

_SCRYPT = {"n": 1 << 14, "r": 8, "p": 1}
_REMEMBERED = 1_000


class Role(enum.StrEnum):
    READWRITE = "readwrite"
    READONLY = "readonly"


@dataclass(frozen=True)
class User:
    name: str
    password: str
    role: Role


class Users:
    """Answers who a header is from. A hashed password takes a while to check, so that outcomes are remembered, by a digest that only this process can make."""

    def __init__(self, users: Mapping[str, User]) -> None:
        self._users = users
        self._secret = os.urandom(32)
        self._known: dict[bytes, User] = {}
        self._lock = threading.Lock()

    def remembered(self, header: str) -> User | None:
        """Whoever sent this header before, and was right; takes no time."""
        return self._known.get(self._digest(header))

    def authenticated(self, header: str) -> User | None:
        """The user of an `Authorization` header; None when it is nobody's."""
        scheme, _, encoded = header.partition(" ")
        if scheme.lower() != "basic":
            return None
        try:
            name, _, password = base64.b64decode(encoded.strip(), validate=True).decode().partition(":")
        except (binascii.Error, ValueError):
            return None
        user = self._users.get(name)
        # An unknown name takes as long as a wrong password, so that names cannot be guessed by the clock.
        if not is_password(password, user.password if user else _DUMMY) or user is None:
            return None
        with self._lock:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[self._digest(header)] = user
        return user

    def _digest(self, header: str) -> bytes:
        return hmac.digest(self._secret, header.encode("utf-8", "surrogateescape"), "sha256")


def hashed(password: str) -> str:
    """A password as the file may hold it."""
    salt = os.urandom(16)
    digest = hashlib.scrypt(password.encode(), salt=salt, maxmem=64 << 20, **_SCRYPT)
    return f"scrypt${_SCRYPT['n']}${_SCRYPT['r']}${_SCRYPT['p']}${salt.hex()}${digest.hex()}"


def is_password(given: str, kept: str) -> bool:
    if not kept.startswith("scrypt$"):
        return hmac.compare_digest(given.encode(), kept.encode())
    try:
        _, n, r, p, salt, digest = kept.split("$")
        found = hashlib.scrypt(given.encode(), salt=bytes.fromhex(salt), n=int(n), r=int(r), p=int(p), maxmem=64 << 20)
        return hmac.compare_digest(found, bytes.fromhex(digest))
    except (ValueError, OverflowError):
        return False


_DUMMY = hashed("nobody")


def read_users(path: str) -> Users:
    """The users in a file; `StartFailure` names the line that is not one."""
    try:
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise StartFailure(f"headrace.users.file: {path} cannot be read ({error})") from error
    users: dict[str, User] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, colon, rest = line.partition(":")
        password, comma, role = rest.rpartition(",")
        if not colon or not comma or role.strip() not in tuple(Role) or not name.strip() or not password.strip():
            raise StartFailure(
                f"headrace.users.file: line {number} of {path} is not `name: password, role` with the role {' or '.join(Role)}"
            )
        users[name.strip()] = User(name.strip(), password.strip(), Role(role.strip()))
    return Users(users)
