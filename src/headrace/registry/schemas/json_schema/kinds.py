"""The words for differences between JSON Schemas, and which of them break a reader.

Kinds and sentences are Confluent's, since tools read them. A kind that is in no list here breaks no one.
"""

from __future__ import annotations

from headrace.registry.schemas.model import Difference, Policy

_SENTENCES = {
    "The keyword at path '{path}' in the {{reader}} schema is not present in the {{writer}} schema": """
        MAXIMUM_ADDED MINIMUM_ADDED EXCLUSIVE_MAXIMUM_ADDED EXCLUSIVE_MINIMUM_ADDED MULTIPLE_OF_ADDED MAX_LENGTH_ADDED MIN_LENGTH_ADDED
        PATTERN_ADDED REQUIRED_ATTRIBUTE_ADDED MAX_PROPERTIES_ADDED MIN_PROPERTIES_ADDED DEPENDENCY_ARRAY_ADDED DEPENDENCY_SCHEMA_ADDED
        MAX_ITEMS_ADDED MIN_ITEMS_ADDED MAX_CONTAINS_ADDED MIN_CONTAINS_ADDED UNIQUE_ITEMS_ADDED ADDITIONAL_ITEMS_REMOVED
        ADDITIONAL_PROPERTIES_REMOVED UNEVALUATED_PROPERTIES_REMOVED UNEVALUATED_ITEMS_REMOVED""",
    "The value at path '{path}' in the {{reader}} schema is more than its value in the {{writer}} schema": """
        MIN_LENGTH_INCREASED MINIMUM_INCREASED EXCLUSIVE_MINIMUM_INCREASED MIN_PROPERTIES_INCREASED MULTIPLE_OF_EXPANDED MIN_ITEMS_INCREASED
        MIN_CONTAINS_INCREASED""",
    "The value at path '{path}' in the {{reader}} schema is less than its value in the {{writer}} schema": """
        MAX_LENGTH_DECREASED MAXIMUM_DECREASED MAX_ITEMS_DECREASED MAX_CONTAINS_DECREASED EXCLUSIVE_MAXIMUM_DECREASED
        MAX_PROPERTIES_DECREASED""",
    "The value at path '{path}' is different between the {{reader}} and {{writer}} schema": """
        PATTERN_CHANGED MULTIPLE_OF_CHANGED DEPENDENCY_ARRAY_CHANGED""",
    "An array or combined type at path '{path}' has fewer elements in the {{reader}} schema than the {{writer}} schema": """
        ADDITIONAL_ITEMS_NARROWED ENUM_ARRAY_NARROWED SUM_TYPE_NARROWED ADDITIONAL_PROPERTIES_NARROWED UNEVALUATED_PROPERTIES_NARROWED
        UNEVALUATED_ITEMS_NARROWED""",
    "An array or combined type at path '{path}' has more elements in the {{reader}} schema than the {{writer}} schema": """
        DEPENDENCY_ARRAY_EXTENDED PRODUCT_TYPE_EXTENDED NOT_TYPE_EXTENDED""",
    "A type at path '{path}' is different between the {{reader}} schema and the {{writer}} schema": """
        TYPE_CHANGED TYPE_NARROWED COMBINED_TYPE_CHANGED COMBINED_TYPE_SUBSCHEMAS_CHANGED ENUM_ARRAY_CHANGED""",
    "The {{reader}} schema has an open content model and has a property or item at path '{path}' which is missing in the {{writer}} schema": """
        REQUIRED_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL REQUIRED_PROPERTY_WITH_DEFAULT_ADDED_TO_OPEN_CONTENT_MODEL
        OPTIONAL_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL ITEM_ADDED_TO_OPEN_CONTENT_MODEL""",
    "The {{reader}} schema has an unopen content model and has a required property at path '{path}' which is missing in the {{writer}} schema": """
        REQUIRED_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL""",
    "The {{reader}} has a closed content model and is missing a property or item present at path '{path}' in the {{writer}} schema": """
        PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL ITEM_REMOVED_FROM_CLOSED_CONTENT_MODEL""",
    "A property or item is missing in the {{reader}} schema but present at path '{path}' in the {{writer}} schema and is not covered by its"
    " partially open content model": """
        PROPERTY_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL ITEM_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL""",
    "The {{reader}} schema has a property or item at path '{path}' which is missing in the {{writer}} schema and is not covered by its"
    " partially open content model": """
        PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL ITEM_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL""",
    "": "SCHEMA_ADDED",
}
_BREAKING = {kind: sentence for sentence, kinds in _SENTENCES.items() for kind in kinds.split()}
_LENIENT = frozenset(
    [
        "ADDITIONAL_PROPERTIES_NARROWED",
        "ADDITIONAL_PROPERTIES_REMOVED",
        "UNEVALUATED_PROPERTIES_NARROWED",
        "UNEVALUATED_PROPERTIES_REMOVED",
        "REQUIRED_PROPERTY_WITH_DEFAULT_ADDED_TO_OPEN_CONTENT_MODEL",
        "OPTIONAL_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL",
        "PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL",
        "PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
        "PROPERTY_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
    ]
)


def breaks(kind: str, policy: Policy) -> bool:
    return kind in _BREAKING and not (policy is Policy.LENIENT and kind in _LENIENT)


def difference(kind: str, path: str, policy: Policy) -> Difference:
    sentence = _BREAKING.get(kind, "").format(path=path)
    message = f'{{errorType:"{kind}", description:"{sentence}\'}}'
    return Difference(kind, path, compatible=not breaks(kind, policy), message=message)
