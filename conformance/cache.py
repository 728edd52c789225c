"""Where installed peers, builds and intermediate results live: `.cache/` in the project, never committed."""

from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
CACHE = PROJECT / ".cache"


class MissingPeer(Exception):
    """A peer is not installed and cannot be; the message says what the machine lacks."""


def free_port() -> int:
    """A TCP port that nobody listens on right now."""
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
