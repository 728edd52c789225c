"""Feature levels."""

from __future__ import annotations

from headrace.wire.messages.api_versions import ApiVersionsRequest
from headrace.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from tests.oracle.requests import versions
from tests.oracle.script import Script, wait_until

TRANSACTIONS, METADATA, REPLICAS = "transaction.version", "metadata.version", "eligible.leader.replicas.version"
UPGRADE, SAFE, UNSAFE = 1, 2, 3
Update = tuple[str, int, int]


def updated_features(s: Script) -> None:
    """UpdateFeatures, and what ApiVersions tells of it."""
    for version in versions(UpdateFeaturesRequest):
        for dry in (True, False)[: version + 1]:
            _refused(s, version, dry)
        if version:
            _dry_runs(s, version)
            _up_and_down(s, version)
        s.call(_ask((TRANSACTIONS, 2, UPGRADE)), version, "to what it is")
        s.call(_ask((METADATA, 30, UPGRADE)), version, "metadata to what it is")
        s.call(_ask(), version, "nothing")


def _ask(*updates: Update, dry: bool = False) -> UpdateFeaturesRequest:
    rows = [FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=how) for name, level, how in updates]
    return UpdateFeaturesRequest(feature_updates=rows, validate_only=dry)


def _refused(s: Script, version: int, dry: bool) -> None:
    refused: tuple[Update, ...] = (
        (TRANSACTIONS, 3, UPGRADE),
        (TRANSACTIONS, -1, UPGRADE),
        (TRANSACTIONS, -1, UNSAFE),
        (TRANSACTIONS, 1, UPGRADE),
        (TRANSACTIONS, 0, UPGRADE),
        (TRANSACTIONS, 3, SAFE),
        (TRANSACTIONS, 2, 0),
        (TRANSACTIONS, 1, 4),
        (TRANSACTIONS, 1, -1),
        (METADATA, 0, UNSAFE),
        (METADATA, 6, UNSAFE),
        (METADATA, 7, SAFE),
        (METADATA, 29, SAFE),
        (METADATA, 29, UNSAFE),
        (METADATA, 29, UPGRADE),
        (METADATA, 31, UPGRADE),
        (REPLICAS, 2, UPGRADE),
        ("kraft.version", 2, UPGRADE),
        ("kraft.version", -1, SAFE),
        ("nowhere.version", 1, UPGRADE),
        ("nowhere.version", 0, UPGRADE),
        ("", 0, SAFE),
    )
    for update in refused:
        # Version 0 has no upgrade types: it asks for an upgrade.
        if version or update[2] == UPGRADE:
            s.call(_ask(update, dry=dry and version > 0), version, f"{update}, dry run {dry}")
    if version:
        s.call(_ask((TRANSACTIONS, 1, SAFE), (METADATA, 31, UPGRADE), dry=dry), version, f"one of two, dry run {dry}")
        _show(s, version)


def _dry_runs(s: Script, version: int) -> None:
    for level in (0, 1):
        for how in (SAFE, UNSAFE):
            s.call(_ask((TRANSACTIONS, level, how), dry=True), version, f"dry run to {level} by {how}")
    _show(s, version)


def _up_and_down(s: Script, version: int) -> None:
    for level, how in ((1, SAFE), (2, UPGRADE), (0, UNSAFE), (1, UPGRADE), (0, SAFE), (0, SAFE), (0, UPGRADE)):
        s.call(_ask((TRANSACTIONS, level, how)), version, f"to {level} by {how}")
        wait_until(lambda level=level: _levels(s).get(TRANSACTIONS, 0) == level)
        _show(s, version)
    s.call(_ask((TRANSACTIONS, 1, UPGRADE), (REPLICAS, 0, SAFE)), version, "two at once")
    wait_until(lambda: REPLICAS not in _levels(s))
    s.call(_ask((TRANSACTIONS, 1, UPGRADE), (TRANSACTIONS, 2, UPGRADE)), version, "one twice")
    wait_until(lambda: _levels(s).get(TRANSACTIONS) == 2)
    s.call(_ask((REPLICAS, 1, UPGRADE)), version, "eligible leader replicas again")
    wait_until(lambda: _levels(s).get(REPLICAS) == 1)
    _show(s, version)


def _levels(s: Script) -> dict[str, int]:
    request = ApiVersionsRequest(client_software_name="oracle", client_software_version="1")
    found = s.client().call(request, 4).finalized_features
    return {each.name: each.max_version_level for each in found}


def _show(s: Script, version: int) -> None:
    levels = _levels(s)
    s.note(f"levels v{version}", {name: levels.get(name, 0) for name in (TRANSACTIONS, METADATA, REPLICAS)})


SCRIPTS = (updated_features,)
