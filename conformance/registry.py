"""`python -m conformance registry`: what other projects say about pairs of schemas, held against the registry's own answers.

The sets are JSON files of pairs with verdicts; they belong to others and are not part of this repository. They are looked for in the folder that
`HEADRACE_REGISTRY_CORPORA` names, else in `shared/corpora/registry` beside the project. Prints passed over all per file, verdicts and ordered lists of
differences apart, and every miss.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conformance.cache import PROJECT
from headrace.registry.schemas import Level, ParsedSchema, Policy, Reference, check, fingerprint, guid, parse

VERDICTS = 0.99
LISTS = 0.95
"""What must be right: of the verdicts, and of the ordered lists of differences."""

EXPLAINED: dict[tuple[str, str], str] = {}
"""File and case → why our answer differs on purpose. None does today."""

Case = dict[str, Any]
Claim = tuple[str, bool, str]
"""`verdict` or `list`, whether it is right, and what was found instead."""


@dataclass
class Tally:
    """What one file came to."""

    name: str
    verdicts: list[bool] = field(default_factory=list)
    lists: list[bool] = field(default_factory=list)
    misses: list[str] = field(default_factory=list)


def folder() -> Path | None:
    """Where the sets are, if anywhere."""
    named = os.environ.get("HEADRACE_REGISTRY_CORPORA")
    places = [Path(named)] if named else [above / "shared" / "corpora" / "registry" for above in PROJECT.parents]
    return next((place for place in places if place.is_dir()), None)


def run() -> bool:
    """Print the table; true when enough is right."""
    place = folder()
    if place is None:
        print("registry: no sets of schemas found; set HEADRACE_REGISTRY_CORPORA to their folder")
        return False
    tallies = [tally(path) for path in sorted(place.glob("*.json"))]
    print(f"{'registry':<34} {'verdicts':>12} {'lists':>12}")
    for each in tallies:
        print(f"{each.name:<34} {_share(each.verdicts):>12} {_share(each.lists):>12}")
    for each in tallies:
        for miss in each.misses:
            print(f"  {each.name} {miss}")
    verdicts = [right for each in tallies for right in each.verdicts]
    lists = [right for each in tallies for right in each.lists]
    print(f"{'together':<34} {_share(verdicts):>12} {_share(lists):>12}")
    return _enough(verdicts, VERDICTS) and _enough(lists, LISTS)


def tally(path: Path, slice_: slice = slice(None)) -> Tally:
    """Every case of one file asked."""
    document = json.loads(path.read_text())
    judge = next(judge for beginning, judge in JUDGES.items() if path.name.startswith(beginning))
    found = Tally(path.stem)
    cases = list(_golden(document["cases"])) if path.name.startswith("sr_md5") else document["cases"]
    for case in cases[slice_]:
        try:
            claims = list(judge(case))
        except Exception as error:
            claims = [("verdict", False, f"{type(error).__name__}: {error}")]
        for kind, right, instead in claims:
            (found.verdicts if kind == "verdict" else found.lists).append(right)
            if not right:
                reason = EXPLAINED.get((path.stem, case["id"]), "unexplained")
                found.misses.append(f"{case['id']} {kind}: {instead} ({reason})")
    return found


def _share(right: list[bool]) -> str:
    return f"{sum(right)}/{len(right)}" if right else "-"


def _enough(right: list[bool], share: float) -> bool:
    return not right or sum(right) / len(right) >= share


def _avro_pair(case: Case) -> Iterator[Claim]:
    found = _avro(case["reader"]).differences(_avro(case["writer"]))
    breaking = [difference for difference in found if not difference.compatible]
    yield "verdict", (not breaking) == case["compatible"], f"found {[str(each) for each in breaking]}"
    if "incompatibility" in case:
        expected = [f"{case['incompatibility']} {place}" for place in case["locations"]]
        got = [str(difference) for difference in breaking]
        yield "list", got == expected, f"found {got} instead of {expected}"


def _avro_level(case: Case) -> Iterator[Claim]:
    previous = [_avro(schema) for schema in reversed(case["previous_oldest_to_newest"])]
    messages = check(_avro(case["new"]), previous, Level(case["level"]))
    yield "verdict", (not messages) == case["compatible"], f"found {messages}"


def _avro_canonical(case: Case) -> Iterator[Claim]:
    schema = parse("AVRO", case["input"])
    form = schema.parsing_form()  # type: ignore[attr-defined]
    yield "verdict", form == case["canonical"], f"found {form}"
    if case["fingerprint_rabin64"] is not None:
        number = schema.rabin()  # type: ignore[attr-defined]
        yield "verdict", str(number) == case["fingerprint_rabin64"], f"found {number}"


def _json(case: Case) -> Iterator[Claim]:
    old, new = (parse("JSON", json.dumps(case[side])) for side in ("original", "update"))
    yield from _against(case, old, new, "backward_compatible", Policy.STRICT)
    lenient = new.differences(old, Policy.LENIENT)
    verdict = all(difference.compatible for difference in lenient)
    yield "verdict", verdict == case["backward_compatible_lenient"], f"lenient, found {[str(each) for each in lenient]}"


def _protobuf(case: Case) -> Iterator[Claim]:
    old, new = (
        parse(
            "PROTOBUF",
            case[side],
            [Reference(**reference) for reference in case.get(f"{side}_references") or ()],
            {each["name"]: each["dependency"] for each in case.get(f"{side}_dependencies") or ()},
            new=True,
        )
        for side in ("original", "update")
    )
    yield from _against(case, old, new, "backward_compatible", Policy.STRICT)


def _against(case: Case, old: ParsedSchema, new: ParsedSchema, verdict: str, policy: Policy) -> Iterator[Claim]:
    found = new.differences(old, policy)
    got = [str(difference) for difference in found]
    yield "verdict", all(each.compatible for each in found) == case[verdict], f"found {got}"
    yield "list", got == case["changes"], f"found {got} instead of {case['changes']}"


def _golden(cases: list[Case]) -> Iterator[Case]:
    """One case per digest: the bits of its name say whether references, metadata and rules belong to the schema."""
    parts = {case["id"]: case["value"] for case in cases}
    for schema_type, digests in parts["expectedHashes"].items():
        for bits, digest in digests.items():
            yield {"id": f"{schema_type}-{bits}", "type": schema_type, "bits": bits, "digest": digest, "parts": parts}


def _digest(case: Case) -> Iterator[Claim]:
    parts = case["parts"]
    references, metadata, rules = (bit == "1" for bit in case["bits"])
    digest = fingerprint(
        parts["schemas"][case["type"].lower()],
        [Reference(**each) for each in parts["references"]] if references else (),
        parts["metadata"] if metadata else None,
        parts["rules"] if rules else None,
    )
    yield "verdict", guid(digest) == case["digest"], f"found {guid(digest)}"


def _avro(schema: Any) -> ParsedSchema:
    return parse("AVRO", json.dumps(schema))


JUDGES: dict[str, Callable[[Case], Iterator[Claim]]] = {
    "avro_confluent_levels": _avro_level,
    "avro_canonical": _avro_canonical,
    "avro_": _avro_pair,
    "json_": _json,
    "proto_": _protobuf,
    "sr_md5": _digest,
}
"""Beginning of a file's name → how its cases are judged; the first that fits."""
