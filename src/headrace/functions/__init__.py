"""Every scalar and aggregate function: one declaration each, with its signatures, its meaning and what it is in Spark SQL.

`CATALOGUE` answers for all of them. To add a function: one `function(...)` in the file of its subject. Needs no pyspark.
"""

from __future__ import annotations

from headrace.functions.aggregate import FoldSql
from headrace.functions.catalogue import CATALOGUE, Catalogue

__all__ = ["CATALOGUE", "Catalogue", "FoldSql"]
