"""The error codes against those of another library that was generated from Kafka 4.3."""

from kio.schema.errors import ErrorCode as KioErrorCode

from headrace.wire.errors import ErrorCode


def test_names_and_numbers_are_kafkas() -> None:
    assert {code.name: int(code) for code in ErrorCode} == {code.name.upper(): code.value for code in KioErrorCode}


def test_retriable_errors_are_kafkas() -> None:
    assert {code.name for code in ErrorCode if code.retriable} == {
        code.name.upper() for code in KioErrorCode if code.retriable
    }
