"""Histories of what clients did and saw, and a checker that finds where a broker broke its promises.

`workload` and `external` write a history while `nemesis` breaks things, `checker` judges it, `run` puts them together. Talks to any
Kafka through clients alone. The checker is pure: a history in, a verdict out.
"""
