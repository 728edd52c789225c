"""The registry without a broker: requests become records, records become state. Any way through it keeps the promises about ids."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from headrace.registry import subjects
from headrace.registry.changes import on_delete_config, on_delete_mode, on_set_config, on_set_mode
from headrace.registry.defaults import Defaults
from headrace.registry.deletion import on_delete_context, on_delete_subject, on_delete_version
from headrace.registry.errors import RegistryError
from headrace.registry.model import Mode, StoredSchema
from headrace.registry.parsing import Parser
from headrace.registry.records import Record, SchemaRecord, decode, encode
from headrace.registry.registration import Outcome, on_register
from headrace.registry.requests import schema_request
from headrace.registry.state import State
from tests.registry.avro import body, record

DEFAULTS = Defaults()
PARSER = Parser()


class House:
    """A state and the log that it came from."""

    def __init__(self) -> None:
        self.state = State()
        self.log: list[tuple[bytes, bytes | None]] = []

    def carry_out(self, outcome: Outcome) -> Any:
        for each in outcome.records:
            self.log.append(encode(each))
            self.state.apply(each)
        return outcome.answer

    def register(self, subject: str, *fields: str, **more: Any) -> StoredSchema:
        options = {name: more.pop(name) for name in ("normalize", "force") if name in more}
        request = schema_request(body(*fields, **more))
        found: StoredSchema = self.carry_out(on_register(self.state, PARSER, DEFAULTS, subject, request, **options))
        return found

    def config(self, subject: str | None, **changes: Any) -> None:
        self.carry_out(on_set_config(self.state, subject, changes))


@pytest.fixture
def house() -> House:
    return House()


def picture(state: State) -> Any:
    """What a client could see of a state."""
    return {
        "schemas": [
            [(each.version, each.id, each.text, each.deleted) for each in state.versions(name)]
            for name in state.subject_names()
        ],
        "names": state.subject_names(),
        "contexts": state.contexts(),
        "configs": [state.config(name) for name in (None, "a", ":.c:", ":.c:a")],
        "modes": [state.mode(name) for name in (None, "a", ":.c:", ":.c:a")],
    }


def replayed(log: list[tuple[bytes, bytes | None]]) -> State:
    state = State()
    for key, value in log:
        state.apply(decode(key, value))
    return state


def compacted(log: list[tuple[bytes, bytes | None]]) -> list[tuple[bytes, bytes | None]]:
    last = {key: place for place, (key, _) in enumerate(log)}
    return [entry for place, entry in enumerate(log) if last[entry[0]] == place]


def refused(code: int, call: Callable[[], Any]) -> RegistryError:
    with pytest.raises(RegistryError) as caught:
        call()
    assert caught.value.code == code, caught.value.message
    return caught.value


def test_a_schema_gets_an_id_and_a_version(house: House) -> None:
    first = house.register("orders", "a")
    assert (first.id, first.version) == (1, 1)
    assert house.register("orders", "a") == first
    second = house.register("orders", "a", "b?")
    assert (second.id, second.version) == (2, 2)
    assert house.state.latest("orders") == second
    assert len(house.log) == 2


def test_equal_schemas_share_an_id_in_a_context(house: House) -> None:
    assert house.register("orders", "a").id == 1
    assert house.register("bills", "x").id == 2
    assert house.register("bills", "a", force=True).id == 1
    assert [(each.subject, each.version) for each in house.state.uses_of_id(1, ".")] == [("bills", 2), ("orders", 1)]
    assert house.register(":.c:orders", "x").id == 1
    assert house.state.contexts() == [".", ".c"]


def test_metadata_are_a_part_of_what_is_equal(house: House) -> None:
    plain = house.register("orders", "a")
    owned = house.register("bills", "a", metadata={"properties": {"owner": "me"}})
    assert plain.id != owned.id
    # Without metadata of its own, a schema has those of the version before.
    assert house.register("bills", "a", "b?").metadata == {"properties": {"owner": "me"}}


def test_what_breaks_readers_is_refused_with_the_reason_first(house: House) -> None:
    house.register("orders", "a")
    error = refused(40901, lambda: house.register("orders", "a", "b"))
    assert error.status == 409
    assert error.message.startswith(
        'Schema being registered is incompatible with an earlier schema for subject "orders"'
    )
    assert "READER_FIELD_MISSING_DEFAULT_VALUE" in error.message
    assert house.register("orders", "a", "b", force=True).version == 2
    house.config("orders", compatibilityLevel="NONE")
    assert house.register("orders", "z").version == 3


def test_a_level_may_look_at_all_versions(house: House) -> None:
    house.config(None, compatibilityLevel="NONE")
    house.register("orders", "a:string")
    house.register("orders", "b?")
    house.config("orders", compatibilityLevel="BACKWARD")
    house.register("orders", "b?", "a:int?")
    house.config("orders", compatibilityLevel="BACKWARD_TRANSITIVE")
    refused(40901, lambda: house.register("orders", "b?", "a:int?", "c?"))


def test_compatibility_is_checked_within_a_group(house: House) -> None:
    house.config("orders", compatibilityGroup="major")
    house.register("orders", "a", metadata={"properties": {"major": "1"}})
    house.register("orders", "b", metadata={"properties": {"major": "2"}})
    refused(40901, lambda: house.register("orders", "c", metadata={"properties": {"major": "1"}}))


def test_a_config_adds_metadata_and_rules(house: House) -> None:
    rules = {"domainRules": [{"name": "r", "type": "CEL", "kind": "CONDITION", "mode": "WRITE", "disabled": False}]}
    house.config(
        "orders", defaultMetadata={"properties": {"owner": "x", "team": "y"}}, overrideMetadata={"properties": {"team": "z"}},
        overrideRuleSet=rules,
    )  # fmt: skip
    kept = house.register("orders", "a", metadata={"properties": {"owner": "me", "team": "me"}})
    assert kept.metadata == {"properties": {"owner": "me", "team": "z"}}
    assert kept.rule_set == rules


def test_reserved_fields_stay_away(house: House) -> None:
    house.config("orders", validateFields=True)
    reserved = {"properties": {"confluent:reserved": "old"}}
    house.register("orders", "a", metadata=reserved)
    assert "reserved field old" in refused(40901, lambda: house.register("orders", "a", "old?")).message
    lost = refused(40901, lambda: house.register("orders", "a", "b?", metadata={"properties": {}})).message
    assert "reserved field old removed" in lost


def test_references_are_followed_and_protected(house: House) -> None:
    money = house.register("money", "cents")
    using = {"references": [{"name": "Order", "subject": "money", "version": 1}]}
    text = '{"type":"record","name":"Bill","fields":[{"name":"sum","type":"Order"}]}'
    request = schema_request({"schema": text, **using})
    bill = house.carry_out(on_register(house.state, PARSER, DEFAULTS, "bills", request))
    assert [each.id for each in house.state.referrers("money", 1, deleted=False)] == [bill.id]
    refused(42206, lambda: on_delete_version(house.state, "money", 1, permanent=False))
    refused(42206, lambda: on_delete_subject(house.state, "money", permanent=False))
    house.carry_out(on_delete_subject(house.state, "bills", permanent=False))
    house.carry_out(on_delete_subject(house.state, "money", permanent=False))
    # The soft deleted referrer could come back.
    refused(42206, lambda: on_delete_subject(house.state, "money", permanent=True))
    assert house.state.by_id(money.id, ".") is not None
    missing = {"references": [{"name": "Order", "subject": "nothing", "version": 1}]}
    bad = schema_request({"schema": text, **missing})
    refused(42201, lambda: on_register(house.state, PARSER, DEFAULTS, "bills2", bad))


def test_deleting_is_soft_first(house: House) -> None:
    house.register("orders", "a")
    house.register("orders", "a", "b?")
    refused(40407, lambda: on_delete_version(house.state, "orders", 1, permanent=True))
    assert house.carry_out(on_delete_version(house.state, "orders", 1, permanent=False)) == 1
    refused(40406, lambda: on_delete_version(house.state, "orders", 1, permanent=False))
    assert house.state.by_id(1, ".") is not None
    assert house.carry_out(on_delete_version(house.state, "orders", 1, permanent=True)) == 1
    assert house.state.by_id(1, ".") is None
    refused(40402, lambda: on_delete_version(house.state, "orders", 1, permanent=False))
    refused(40401, lambda: on_delete_version(house.state, "nothing", 1, permanent=False))
    refused(40405, lambda: on_delete_subject(house.state, "orders", permanent=True))
    assert house.carry_out(on_delete_subject(house.state, "orders", permanent=False)) == [2]
    refused(40404, lambda: on_delete_subject(house.state, "orders", permanent=False))
    house.config("orders", compatibilityLevel="FULL")
    assert house.carry_out(on_delete_subject(house.state, "orders", permanent=True)) == [2]
    assert house.state.config("orders") is None
    refused(40401, lambda: on_delete_subject(house.state, "orders", permanent=True))


def test_a_deleted_schema_comes_back_as_a_new_version_with_its_id(house: House) -> None:
    house.register("orders", "a")
    house.carry_out(on_delete_subject(house.state, "orders", permanent=False))
    again = house.register("orders", "a")
    assert (again.id, again.version) == (1, 2)
    assert [each.version for each in house.state.versions("orders")] == [2]


def test_an_id_is_not_given_twice_while_the_registry_runs(house: House) -> None:
    house.register("orders", "a")
    for permanent in (False, True):
        house.carry_out(on_delete_subject(house.state, "orders", permanent=permanent))
    assert house.register("orders", "b").id == 2


def test_import_mode_takes_ids_and_checks_nothing(house: House) -> None:
    refused(42205, lambda: house.register("orders", "a", id=17))
    house.register("other", "a")
    refused(42205, lambda: on_set_mode(house.state, DEFAULTS, None, Mode.IMPORT, force=False))
    house.carry_out(on_set_mode(house.state, DEFAULTS, "orders", Mode.IMPORT, force=False))
    kept = house.register("orders", "x", id=17, version=4)
    assert (kept.id, kept.version) == (17, 4)
    assert house.register("orders", "y", id=18, version=9).version == 9
    refused(42205, lambda: house.register("orders", "z", id=17))
    refused(42205, lambda: house.register("orders", "z"))
    house.carry_out(on_delete_mode(house.state, DEFAULTS, "orders", recursive=False))
    assert house.register("orders", "z", force=True).id == 19
    refused(42201, lambda: house.register("orders", "z", "q?", version=7))


def test_read_only_mode_refuses_writes(house: House) -> None:
    house.register("orders", "a")
    house.carry_out(on_set_mode(house.state, DEFAULTS, ":.__GLOBAL:", Mode.READONLY, force=False))
    refused(42205, lambda: house.register("orders", "a", "b?"))
    refused(42205, lambda: on_delete_subject(house.state, "orders", permanent=False))
    refused(42205, lambda: on_set_config(house.state, "orders", {"compatibilityLevel": "NONE"}))
    house.carry_out(on_set_mode(house.state, DEFAULTS, "orders", Mode.READWRITE, force=False))
    assert house.register("orders", "a", "b?").version == 2
    refused(42205, lambda: on_set_mode(house.state, Defaults(mode_changes=False), None, Mode.READWRITE, force=False))


def test_settings_fall_through_from_subject_to_context_to_top(house: House) -> None:
    house.config(None, compatibilityLevel="FULL", normalize=True)
    house.config(":.c:", compatibilityLevel="NONE")
    assert DEFAULTS.config(house.state, "x")["compatibilityLevel"] == "FULL"
    assert DEFAULTS.config(house.state, ":.c:x") == {"compatibilityLevel": "NONE"}
    house.config(":.c:x", alias="y")
    assert DEFAULTS.config(house.state, ":.c:x") == {"compatibilityLevel": "BACKWARD", "normalize": True, "alias": "y"}
    house.config(":.c:x", alias=None)
    assert house.state.config(":.c:x") == {}
    house.carry_out(on_delete_config(house.state, DEFAULTS, ":.c:x"))
    assert house.state.config(":.c:x") is None
    refused(40401, lambda: on_delete_config(house.state, DEFAULTS, ":.c:x"))


def test_a_context_is_deleted_when_it_is_empty(house: House) -> None:
    house.register(":.c:x", "a")
    refused(42211, lambda: on_delete_context(house.state, ".c"))
    for permanent in (False, True):
        house.carry_out(on_delete_subject(house.state, ":.c:x", permanent=permanent))
    house.carry_out(on_delete_context(house.state, ".c"))
    assert house.state.contexts() == ["."]


def test_a_second_schema_with_an_id_is_left_alone() -> None:
    house, other = House(), House()
    house.register("orders", "a")
    other.register("orders2", "b")
    intruder: Record = decode(*other.log[0])
    house.state.apply(intruder)
    assert house.state.versions("orders2") == []
    assert house.state.complaints == {("orders2", 1): "id 1 already stands for another schema"}
    house.state.apply(SchemaRecord("orders2", 1, None))
    assert house.state.complaints == {}


NAMES = st.sampled_from(["a", "b", ":.c:a", ":.d:b"])
SCHEMAS = st.sampled_from([("x",), ("y",), ("x", "y?"), ("x", "y?", "z?"), ("y", "z?")])
SCOPES = st.sampled_from([None, "a", ":.c:", ":.c:a"])


class AnyWay(RuleBasedStateMachine):
    """Requests in any order. Refusals are fine; broken promises are not."""

    def __init__(self) -> None:
        super().__init__()
        self.house = House()
        self.meaning: dict[tuple[str, int], str] = {}

    def attempt(self, decide: Callable[[], Outcome]) -> None:
        try:
            self.house.carry_out(decide())
        except RegistryError as error:
            assert error.status in (404, 409, 422), error.message

    @rule(
        subject=NAMES,
        fields=SCHEMAS,
        force=st.booleans(),
        id_=st.none() | st.integers(1, 9),
        version=st.sampled_from([0, 0, -1, 2, 5]),
    )
    def register(self, subject: str, fields: tuple[str, ...], force: bool, id_: int | None, version: int) -> None:
        request = schema_request({"schema": record(*fields), "id": id_, "version": version})
        state = self.house.state
        self.attempt(lambda: on_register(state, PARSER, DEFAULTS, subject, request, force=force))

    @rule(subject=NAMES, permanent=st.booleans())
    def delete_subject(self, subject: str, permanent: bool) -> None:
        self.attempt(lambda: on_delete_subject(self.house.state, subject, permanent=permanent))

    @rule(subject=NAMES, version=st.sampled_from([-1, 1, 2, 3]), permanent=st.booleans())
    def delete_version(self, subject: str, version: int, permanent: bool) -> None:
        self.attempt(lambda: on_delete_version(self.house.state, subject, version, permanent=permanent))

    @rule(scope=SCOPES, level=st.sampled_from(["NONE", "FULL", None]))
    def set_config(self, scope: str | None, level: str | None) -> None:
        self.attempt(lambda: on_set_config(self.house.state, scope, {"compatibilityLevel": level}))

    @rule(scope=SCOPES, mode=st.sampled_from([None, *Mode]), force=st.booleans())
    def set_mode(self, scope: str | None, mode: Mode | None, force: bool) -> None:
        self.attempt(lambda: on_set_mode(self.house.state, DEFAULTS, scope, mode, force=force))

    @rule(context=st.sampled_from([".c", ".d", "."]))
    def delete_context(self, context: str) -> None:
        self.attempt(lambda: on_delete_context(self.house.state, context))

    @invariant()
    def an_id_never_changes_its_schema(self) -> None:
        state = self.house.state
        present = {}
        for name in state.subject_names():
            for each in state.versions(name):
                key = (subjects.context_of(name), each.id)
                assert present.setdefault(key, each.text) == each.text
                assert state.by_id(each.id, key[0], name) is not None
                assert state.id_of(each.digest, key[0]) == each.id
        for key, text in present.items():
            if key in self.meaning and self.meaning[key] != text:
                # Only an import may use an id again, and only after it was deleted for good.
                assert key[1] <= 9
            self.meaning[key] = text

    @invariant()
    def the_log_gives_the_same_state_whole_or_compacted(self) -> None:
        house = self.house
        seen = picture(house.state)
        assert picture(replayed(house.log)) == seen
        assert picture(replayed(compacted(house.log))) == seen
        assert picture(house.state.copy()) == seen


TestAnyWay = AnyWay.TestCase
TestAnyWay.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
