"""Makes the archive of class data that makes later starts faster: runs a session, puts it through its paces, keeps what it loaded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.spark.runtime.cache import Progress, exclusive, forget_unused, scratch, silent
from headrace.spark.runtime.class_data import archive, base_of, recording_options
from headrace.spark.runtime.errors import RuntimeUnavailable
from headrace.spark.runtime.installation import Installation
from headrace.spark.session import SessionSettings, start_session, stop_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Our own classes change with every version of Headrace, Spark's do not: without ours the archive outlives them.
_WITHOUT_OURS = {"spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.LocalFileSystem", "spark.sql.extensions": ""}
# Java writes the archive while it ends.
_WRITE_TIMEOUT_S = 180.0


def provide_archive(
    installation: Installation, exercise: Callable[[SparkSession], None], progress: Progress = silent
) -> Path:
    """The archive; makes it when there is none. `exercise` uses what later sessions will use."""
    target = archive(installation)
    if target.exists():
        return target
    with exclusive(target.parent, progress):
        if not target.exists():
            progress("starting Spark once to see what it loads")
            _record(installation, target, exercise, progress)
            forget_unused(target.parent, "*.jsa")
    return target


def _record(
    installation: Installation, target: Path, exercise: Callable[[SparkSession], None], progress: Progress
) -> None:
    with scratch(target.parent) as made:
        written = made / target.name
        settings = SessionSettings(
            app_name="headrace-setup",
            java_options=tuple(recording_options(installation, written)),
            fast_start=False,
            log_file=made / "spark.log",
            extra=_WITHOUT_OURS,
        )
        session = start_session(settings, installation=replace(installation, classes=None))
        try:
            exercise(session)
        finally:
            progress("archiving what it loaded")
            stop_session(_WRITE_TIMEOUT_S)
        if not written.exists():
            raise RuntimeUnavailable(
                "Java wrote no archive of its classes",
                "Starts are slower without; `headrace setup --no-fast-start` leaves it out",
                detail=(made / "spark.out").read_text(errors="replace")[-500:],
            )
        # The base first: an archive without its base is of no use, a base alone does no harm.
        if base_of(written).exists():
            base_of(written).rename(base_of(target))
        written.rename(target)
