"""The emergency centre of a country, as an application to look at: a scenario that is known in advance, the records that follow from it, what the
pipelines of `examples/emergency/` make of them, and a score of that against the truth.

`scenario`, `texts`, `generator` and `scoring` are pure: a seed and a time in, records and figures out. `sending`, `watching`, `services` and `show` run it.
"""
