"""Headrace: an event-streaming platform in one Python package."""

__version__ = "0.1.0.dev0"
