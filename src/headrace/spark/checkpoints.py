"""Where the queries of a pipeline keep offsets and state, and what each checkpoint was written for.

    <checkpoint_dir>/<plan>/<stage id>/                the checkpoint, Spark's own
    <checkpoint_dir>/<plan>/<stage id>.fingerprint     what of the stage its state depends on, as JSON

The directory may be on any file system that Spark reaches, so everything here goes through Hadoop's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MAX_FINGERPRINT_BYTES = 16 << 20


class Checkpoints:
    """The checkpoints of one pipeline."""

    def __init__(self, spark: SparkSession, root: str, plan: str) -> None:
        self._jvm: Any = spark._jvm
        self._directory = f"{root.rstrip('/')}/{plan}"
        self._hadoop = spark.sparkContext._jsc.hadoopConfiguration()
        self._fs = self._path(self._directory).getFileSystem(self._hadoop)

    def location(self, stage: str) -> str:
        return f"{self._directory}/{stage}"

    def fingerprint(self, stage: str) -> str | None:
        """What the stage's checkpoint was written for; None when there is none."""
        path = self._path(f"{self._directory}/{stage}.fingerprint")
        if not self._fs.exists(path):
            return None
        stream = self._fs.open(path)
        try:
            data = self._jvm.org.apache.commons.io.IOUtils.toByteArray(stream)
        finally:
            stream.close()
        return bytes(data).decode()

    def remember(self, stage: str, fingerprint: str) -> None:
        """Written whole or not at all, as Spark writes its own files: a process may be killed at any moment."""
        path = self._path(f"{self._directory}/{stage}.fingerprint")
        self._fs.mkdirs(path.getParent())
        spark = self._jvm.org.apache.spark.sql.execution.streaming.checkpointing
        files = spark.FileSystemBasedCheckpointFileManager(path.getParent(), self._hadoop)
        stream = files.createAtomic(path, True)
        try:
            stream.write(bytearray(fingerprint.encode()))
        except BaseException:
            stream.cancel()
            raise
        stream.close()

    def tidy(self, stage: str) -> None:
        """Remove what a killed process had begun to write: Spark refuses to begin anew when a log that it finds empty has a file of any name beside it."""
        for log in ("commits", "offsets"):
            path = self._path(f"{self._directory}/{stage}/{log}")
            if self._fs.exists(path):
                for file in self._fs.listStatus(path):
                    if file.getPath().getName().startswith(".") and file.getPath().getName().endswith(".tmp"):
                        self._fs.delete(file.getPath(), False)

    def delete(self) -> None:
        """Forget everything: offsets and state of all stages."""
        self._fs.delete(self._path(self._directory), True)

    def _path(self, text: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(text)
