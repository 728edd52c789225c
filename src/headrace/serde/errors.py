"""What can be wrong with a record or its schema. The text is the reason, to stand behind a colon."""

from __future__ import annotations


class SerdeError(Exception):
    """The base of all."""


class NotFramed(SerdeError):
    """Bytes of somebody who did not ask a registry."""


class Undecodable(SerdeError):
    """Bytes that are not what their schema says."""


class Unfit(SerdeError):
    """A value that its schema does not allow."""


class BadSchema(SerdeError):
    """A schema that cannot be used here."""
