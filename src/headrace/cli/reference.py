"""The reference pages, made from the code: `python -m headrace.cli.reference docs/reference`.

Commands come from the Typer application, settings from their declarations, APIs from the broker's list of handlers, metrics from
theirs. A test compares the pages with what this prints, so they cannot fall behind.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

NOTE = "<!-- Made by `make docs` from the code. Change the code, not this page. -->\n\n"
_HELP_WIDTH = 100


def pages() -> dict[str, str]:
    """Every page by file name."""
    makers: Mapping[str, Callable[[], str]] = {
        "cli.md": cli_page,
        "broker-settings.md": broker_settings_page,
        "topic-settings.md": topic_settings_page,
        "group-settings.md": group_settings_page,
        "apis.md": apis_page,
        "metrics.md": metrics_page,
        "streams.md": streams_page,
        "functions.md": functions_page,
        "formats.md": formats_page,
        "registry-api.md": registry_api_page,
        "registry-settings.md": registry_settings_page,
    }
    return {name: NOTE + maker().rstrip() + "\n" for name, maker in makers.items()}


def commands() -> Iterator[tuple[str, Any, Any]]:
    """Every command with its full name and the Typer context to ask for its help."""
    import typer

    from headrace.cli.main import application

    def walk(command: Any, parent: Any, name: str) -> Iterator[tuple[str, Any, Any]]:
        context = command.context_class(command, info_name=name, parent=parent, terminal_width=_HELP_WIDTH)
        path = context.command_path
        yield path, command, context
        for child_name, child in getattr(command, "commands", {}).items():
            yield from walk(child, context, child_name)

    yield from walk(typer.main.get_command(application()), None, "headrace")


def cli_page() -> str:
    parts = [
        "# Command line\n",
        "Every command that talks to a broker finds it through `--bootstrap-server`, else `--context`, else the environment variable "
        "`HEADRACE_BOOTSTRAP`, else the current context, else `127.0.0.1:9092`; Headrace or Apache Kafka makes no difference.\n",
        "Exit codes: 0 success, 1 failure, 2 a mistake in the command line, 130 interrupted with Ctrl-C. Answers go to standard output, "
        "everything else to standard error. `NO_COLOR` is respected.\n",
    ]
    for path, command, context in commands():
        text = "\n".join(line.rstrip() for line in command.get_help(context).splitlines())
        level = "##" if path.count(" ") < 2 else "###"
        parts.append(f"{level} {path}\n\n```text\n{text}\n```\n")
    return "\n".join(parts)


def broker_settings_page() -> str:
    from headrace.settings.broker import BROKER_SETTINGS
    from headrace.settings.kafka_names import UNUSED_KAFKA_SETTINGS

    unused = ", ".join(f"`{name}`" for name in sorted(UNUSED_KAFKA_SETTINGS))
    return (
        "# Broker settings\n\n"
        "Given with `headrace broker --set KEY=VALUE` or in a file with `--config FILE`, which has the form of Kafka's `server.properties`. "
        "Names, meanings and defaults are Kafka's; those that start with `headrace.` are our own. *Changes* says whether a value can be "
        "changed while the broker runs with `headrace config set`.\n\n"
        + _settings(BROKER_SETTINGS.values(), with_update=True)
        + "\n## Taken and not used\n\n"
        "A `server.properties` of Apache Kafka may hold these. Headrace takes them and does nothing with them, because what they "
        f"tune does not exist here (yet):\n\n{unused}\n"
    )


def streams_page() -> str:
    from headrace.streams.reference import page

    return page()


def functions_page() -> str:
    from headrace.functions.reference import page

    return page()


def formats_page() -> str:
    from headrace.formats.reference import page

    return page()


def topic_settings_page() -> str:
    from headrace.settings.topic import TOPIC_SETTINGS

    return (
        "# Topic settings\n\n"
        "Set with `headrace topic create -c KEY=VALUE`, `headrace topic alter --set KEY=VALUE` or any Kafka admin client. Where a topic has "
        "no value of its own, the broker's setting behind *Else* counts.\n\n"
        + _settings(TOPIC_SETTINGS.values(), with_synonyms=True)
    )


def group_settings_page() -> str:
    from headrace.settings.group import GROUP_SETTINGS

    return (
        "# Group settings\n\n"
        "Stored, checked and described as Kafka does. Groups of the classic protocol, the only one so far, use none of them.\n\n"
        + _settings(GROUP_SETTINGS.values(), with_synonyms=True)
    )


def registry_settings_page() -> str:
    from headrace.registry.settings import REGISTRY_SETTINGS

    return (
        "# Registry settings\n\n"
        "Given to `headrace registry` with `--set KEY=VALUE` or in the file of `--config`, which may be a `schema-registry.properties` of Confluent's. Names are Confluent's where "
        "there is one. Everything else that starts with `kafkastore.` goes to the Kafka client, such as `kafkastore.security.protocol`.\n\n"
        + _settings(REGISTRY_SETTINGS.values())
    )


def registry_api_page() -> str:
    from headrace.registry.api import ENDPOINTS
    from headrace.registry.openapi import markdown

    return (
        "# The registry's HTTP interface\n\n"
        "`headrace registry` answers on `http://127.0.0.1:8081`, in Confluent's forms: bodies and answers are JSON "
        '(`application/vnd.schemaregistry.v1+json`, `application/json`), an error is `{"error_code": …, "message": "…"}` with the HTTP status in the first three digits of its code. '
        "`/openapi.json` is this page for programs, `/openapi` the same for browsers. Most paths are there under `/contexts/{context}` too. What is not as in Confluent's "
        "registry is on [a page of its own](../explanation/registry-differences.md).\n\n" + markdown(ENDPOINTS)
    )


def _settings(settings: Iterable[Any], *, with_update: bool = False, with_synonyms: bool = False) -> str:
    parts = []
    for setting in settings:
        facts = [f"**Type** {setting.type.name.lower()}", f"**Default** {_value(setting)}"]
        if setting.allowed is not None:
            facts.append(f"**Allowed** {setting.allowed}")
        if with_update:
            facts.append(f"**Changes** {_UPDATES[setting.update.name]}")
        if with_synonyms and setting.synonyms:
            facts.append("**Else** " + ", then ".join(f"`{synonym.name}`" for synonym in setting.synonyms))
        parts.append(f"### `{setting.name}`\n\n{setting.doc}\n\n{'  ·  '.join(facts)}\n")
    return "\n".join(parts)


_UPDATES = {"READ_ONLY": "at start only", "PER_BROKER": "per broker", "CLUSTER_WIDE": "per broker or for all"}


def _value(setting: Any) -> str:
    text = setting.format(setting.default)
    return "none" if text is None else ("empty" if text == "" else f"`{text}`")


def apis_page() -> str:
    from headrace.broker.api import HANDLERS

    rows = []
    notes = []
    for handler in sorted(HANDLERS, key=lambda one: one.REQUEST.KEY):
        request = handler.REQUEST
        name = request.__name__.removesuffix("Request")
        low, high = request.ADVERTISED
        rows.append(f"| {request.KEY} | [{name}](#{name.lower()}) | {low}-{high} |")
        notes.append(f"### {name}\n\n{_handler_notes(handler.__doc__ or '')}\n")
    return (
        "# Supported APIs\n\n"
        "What the broker advertises in ApiVersions. The versions are those of Apache Kafka 4.3, so clients negotiate with Headrace what they "
        "would with Kafka. An API that is not in this table is not advertised.\n\n"
        "| key | API | versions |\n|---:|---|---|\n" + "\n".join(rows) + "\n\n" + "\n".join(notes)
    )


def _handler_notes(docstring: str) -> str:
    """A handler's docstring opens with Behaviour / Versions / Not implemented; each becomes a paragraph."""
    lines: list[str] = []
    for line in docstring.strip().splitlines():
        stripped = line.strip()
        label = next(
            (one for one in ("Behaviour", "Versions", "Not implemented") if stripped.startswith(f"{one}:")), None
        )
        if label:
            lines += ["", stripped.replace(f"{label}:", f"**{label}.**", 1)]
        else:
            lines.append(stripped)
    return "\n".join(lines)


def metrics_page() -> str:
    from headrace.broker.metrics import LATENCY, LATENCY_DOC, METRICS

    rows = [
        f"| `{measure.name}{'_total' if measure.kind == 'counter' else ''}` | {measure.kind} "
        f"| {', '.join(measure.labels) or '-'} | {measure.doc} |"
        for measure in METRICS
    ]
    rows.append(f"| `{LATENCY}` | histogram | api | {LATENCY_DOC} |")
    head = "| name | kind | labels | meaning |\n|---|---|---|---|\n"
    return (
        "# Metrics\n\n"
        "At `/metrics` on the HTTP port (`--http-port`, or `headrace.http.port`), in the text format of Prometheus. `/healthz` on the same "
        "port answers 200 while the broker is well and 503 with the reasons while it is not.\n\n"
        + head
        + "\n".join(rows)
        + "\n\n## The engine\n\n"
        "At `/metrics` of the engine (port 8084). Counts are since the pipeline started, so they begin at 0 again when it is restarted.\n\n"
        + head
        + "\n".join(_engine_metrics())
        + "\n\n## The registry\n\nAt `/metrics` of the registry (port 8081).\n\n"
        + head
        + "\n".join(_registry_metrics())
        + "\n"
    )


def _registry_metrics() -> list[str]:
    from headrace.registry.metrics import METRICS

    return [f"| `{name}` | gauge | - | {doc} |" for name, (doc, _) in METRICS.items()]


def _engine_metrics() -> list[str]:
    from headrace.engine.metrics import LATE, LATE_DOC, METRICS, RESTARTS, RESTARTS_DOC, STATE, STATE_DOC

    named = [
        (STATE, "pipeline, state", STATE_DOC),
        (RESTARTS, "pipeline", RESTARTS_DOC),
        *((name, "pipeline", doc) for name, (doc, _) in METRICS.items()),
        (LATE, "pipeline, step, partition", LATE_DOC),
    ]
    return [f"| `{name}` | gauge | {labels} | {doc} |" for name, labels, doc in named]


def main(arguments: list[str]) -> int:
    """Write the pages into the folder that is named."""
    if len(arguments) != 1:
        sys.stderr.write("usage: python -m headrace.cli.reference FOLDER\n")
        return 2
    folder = Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            sys.stdout.write(f"{path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
