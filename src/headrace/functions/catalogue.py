"""All functions by name, and what callers ask of them: types, SQL, folds. Fulfils `headrace.plan.catalogue.Functions`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from headrace.functions import aggregates, collections, conditions, json_text, numbers, operators, text, time
from headrace.functions.aggregate import AggregateFunction, FoldSql
from headrace.functions.declaration import Function, Match
from headrace.functions.signature import LambdaType, substitute
from headrace.plan.catalogue import SignatureError
from headrace.plan.expressions import Literal
from headrace.plan.scope import one_of
from headrace.plan.types import STRING, DataType

SUBJECTS: Mapping[str, tuple[Function, ...]] = {
    "Operators": operators.FUNCTIONS,
    "Conditions": conditions.FUNCTIONS,
    "Text and bytes": text.FUNCTIONS,
    "Numbers": numbers.FUNCTIONS,
    "Dates and times": time.FUNCTIONS,
    "Arrays, maps and structs": collections.FUNCTIONS,
    "JSON": json_text.FUNCTIONS,
}


class Catalogue:
    """The functions of a set of declarations."""

    def __init__(
        self, subjects: Mapping[str, Iterable[Function]], aggregate_functions: Iterable[AggregateFunction]
    ) -> None:
        self.scalars = {one.name: replace(one, subject=subject) for subject, some in subjects.items() for one in some}
        self.aggregates = {one.name: one for one in aggregate_functions}

    def result_type(self, name: str, arguments: Sequence[DataType]) -> DataType:
        return self._match(name, arguments).result

    def lambda_parameters(self, name: str, position: int, arguments: Sequence[DataType | None]) -> tuple[DataType, ...]:
        """The parameter types of the lambda at `position`, from the arguments that are known."""
        function = self._scalar(name)
        for overload in function.overloads:
            bound = overload.signature.bind(arguments)
            wanted = None if bound is None else substitute(overload.signature.parameter(position), bound)
            if isinstance(wanted, LambdaType):
                return wanted.parameters
        raise _refused(function, arguments)

    def check_constants(self, name: str, arguments: Sequence[Literal | None]) -> None:
        for position, check in self._scalar(name).constants.items():
            literal = arguments[position] if position < len(arguments) else Literal(STRING, None)
            if literal is None:
                raise SignatureError(f"argument {position + 1} of {name} must be a constant, not computed from a row")
            problem = None if literal.value is None else check(literal.value)
            if problem is not None:
                raise SignatureError(f"argument {position + 1} of {name}, {str(literal)[:80]}: {problem}")
        together = self._scalar(name).together
        problem = together([one.value if one else None for one in arguments]) if together else None
        if problem is not None:
            raise SignatureError(f"{name}: {problem}")

    def spark_sql(self, name: str, argument_sqls: Sequence[str], argument_types: Sequence[DataType]) -> str:
        """A call as SQL; the arguments are SQL already."""
        return self._match(name, argument_types).sql(argument_sqls, argument_types)

    def aggregate_type(self, name: str, arguments: Sequence[DataType]) -> DataType:
        return self._aggregate(name).match(arguments).result

    def aggregate_undoes(self, name: str, arguments: Sequence[DataType]) -> bool:
        return self._aggregate(name).undoes(arguments)

    def aggregate_sql(self, name: str, args: Sequence[str], types: Sequence[DataType]) -> str | None:
        """The aggregate with Spark's built-in functions; None when there is none that depends on nothing but the rows (not on their order)."""
        return self._aggregate(name).spark_sql(args, types)

    def fold(self, name: str, args: Sequence[str], types: Sequence[DataType], prefix: str = "") -> FoldSql:
        """The aggregate as a fold; its state's fields get the prefix, so that several aggregates share one state."""
        return self._aggregate(name).fold_sql(args, types, prefix)

    def _scalar(self, name: str) -> Function:
        found = self.scalars.get(name)
        if found is not None:
            return found
        if name in self.aggregates:
            raise SignatureError(f"{name} is an aggregate function: use it in an Aggregate step, after a GroupBy")
        raise SignatureError(f"there is no function {name!r}{one_of(name, self.scalars)}")

    def _aggregate(self, name: str) -> AggregateFunction:
        found = self.aggregates.get(name)
        if found is not None:
            return found
        raise SignatureError(f"there is no aggregate function {name!r}{one_of(name, self.aggregates)}")

    def _match(self, name: str, arguments: Sequence[DataType]) -> Match:
        function = self._scalar(name)
        found = function.match(arguments)
        if found is None:
            raise _refused(function, arguments)
        return found


def _refused(function: Function, arguments: Sequence[DataType | None]) -> SignatureError:
    given = ", ".join("a lambda" if one is None else str(one) for one in arguments)
    return SignatureError(f"{function.name}({given}): {function.name} takes {' or '.join(function.signatures())}")


CATALOGUE = Catalogue(SUBJECTS, aggregates.FUNCTIONS)
