"""The registry's HTTP interface as a table: every endpoint is declared once, in the file of what it is about."""

from headrace.registry.api.associations import ENDPOINTS as ASSOCIATIONS
from headrace.registry.api.compatibility import ENDPOINTS as COMPATIBILITY
from headrace.registry.api.description import description_of
from headrace.registry.api.endpoint import Endpoint
from headrace.registry.api.other import ENDPOINTS as OTHER
from headrace.registry.api.schemas import ENDPOINTS as SCHEMAS
from headrace.registry.api.settings import ENDPOINTS as SETTINGS
from headrace.registry.api.subjects import ENDPOINTS as SUBJECTS

# The order is that of the routes: what serializers ask all the time comes first.
ENDPOINTS: tuple[Endpoint, ...] = (
    SCHEMAS[0],
    *SUBJECTS,
    *SCHEMAS[1:],
    *COMPATIBILITY,
    *SETTINGS,
    *ASSOCIATIONS,
    *OTHER,
)
ENDPOINTS += description_of(ENDPOINTS)
