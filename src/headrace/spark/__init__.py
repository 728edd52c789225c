"""Pipelines on Spark: the session, sources, sinks and one lowering per plan step. The only package that imports pyspark.

Importing this package costs nothing: `runtime` finds and prepares what Spark needs without importing it, `session` starts it.
"""
