"""What went wrong in a query, in words that say what to do: Spark's and Java's exceptions are read here and nowhere else."""

from __future__ import annotations

import re
from collections.abc import Sequence


class PipelineError(RuntimeError):
    """Why a pipeline cannot start or has ended. `stage` is the query at fault; `detail` is what Spark said."""

    def __init__(self, pipeline: str, stage: str, problem: str, detail: str = "") -> None:
        place = f"stage {stage!r} of pipeline {pipeline!r}" if stage else f"pipeline {pipeline!r}"
        super().__init__(f"{place}: {problem}" + (f" [{detail}]" if detail else ""))
        self.pipeline = pipeline
        self.stage = stage
        self.problem = problem
        self.detail = detail


# The first that is found in the text of the exception and its causes.
_WORDS: Sequence[tuple[str, str]] = (
    (
        r"CONCURRENT_SCHEDULER_INSUFFICIENT_SLOT",
        "Spark has too few task slots for real-time mode: give the session more (`--master local[128,4]`) or the pipeline fewer shuffle partitions",
    ),
    (
        r"UnknownTopicOrPartition|UNKNOWN_TOPIC_OR_PART|does not exist|Topic .* not present in metadata",
        "a topic is missing: it was deleted, or never created. Create it and start the pipeline again",
    ),
    (
        r"failOnDataLoss|OffsetOutOfRange|DATA_LOSS|[Ss]ome data may have been lost|were aged out|KAFKA_DATA_LOSS",
        "records that it had not read yet are gone (retention was shorter than its pause, or the topic was created anew). "
        "Reset the pipeline, or start it with fail_on_data_loss=False to go on with what is left",
    ),
    (
        r"ProducerFenced|InvalidProducerEpoch|fenced",
        "another process runs the same pipeline with the same checkpoints and has taken over its transactions. Stop one of the two",
    ),
    (
        r"STATE_STORE.*SCHEMA|StateSchema|STATE_STORE_KEY_SCHEMA|STATE_STORE_VALUE_SCHEMA",
        "its state was written by a plan with other types. Reset the pipeline, or run the new plan under another name",
    ),
    (
        r"TimeoutException.*(?:metadata|node assignment|not present)|Connection to node .* could not be established",
        "no broker answers. Start it, or mend bootstrap_servers",
    ),
    (
        r"(?:Sasl|Ssl)?AuthenticationException",
        "the broker refuses the pipeline's credentials: check the kafka settings",
    ),
    (
        r"TopicAuthorization|GroupAuthorization|ClusterAuthorization|TransactionalIdAuthorization",
        "the broker does not allow the pipeline what it does: its user needs to read its sources and write its outputs and internal topics",
    ),
    (
        r"RecordTooLarge",
        "a record is larger than its output topic takes: raise max.message.bytes of the topic, or write less per record",
    ),
    (
        r"OutOfMemoryError|Java heap space",
        "Spark ran out of memory: give the session more, or set max_records_per_batch lower",
    ),
    (
        # Ten seconds are fixed in Spark's source; no setting changes them.
        r"Python worker failed to connect back",
        "Python did not start within the ten seconds that Spark gives it, because the machine is very busy: start the pipeline again",
    ),
    (r"No space left on device", "the disk with the checkpoints or Spark's scratch files is full"),
)


def explained(pipeline: str, stage: str, error: object) -> PipelineError:
    """An error of Spark's as one of ours."""
    text = _whole_text(error)
    detail = _short(str(error))
    for pattern, words in _WORDS:
        if re.search(pattern, text):
            return PipelineError(pipeline, stage, words, detail)
    return PipelineError(pipeline, stage, "the query failed", detail)


def _whole_text(error: object) -> str:
    texts = [str(error)]
    cause = getattr(error, "_cause", None) or getattr(error, "__cause__", None)
    while cause is not None and len(texts) < 10:
        texts.append(str(cause))
        cause = getattr(cause, "_cause", None) or getattr(cause, "__cause__", None)
    trace = getattr(error, "_stackTrace", None) or getattr(error, "stackTrace", None)
    return "\n".join([*texts, str(trace or "")])


def _short(text: str) -> str:
    """The first lines that say something, without Java's stack."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.strip().startswith(("at ", "==="))]
    kept = [line for line in lines if not line.startswith(("Driver stacktrace", "... "))]
    return " ".join(kept)[:600]
