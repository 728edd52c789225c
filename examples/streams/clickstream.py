"""Clickstream enrichment: page views meet the users and the pages they are about, and become visits.

    headrace run examples/streams/clickstream.py

`views` is keyed by user. Users change while the stream runs, so they are a table; pages are few and looked up by another field, so they are a
global table. A visit ends when a user has seen nothing for half an hour.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.streams import App, agg, session

MINUTE = 60_000


@dataclass
class View:
    page: str
    milliseconds: int


@dataclass
class User:
    name: str
    country: str


@dataclass
class Page:
    title: str
    section: str


@dataclass
class EnrichedView:
    user: str
    country: str
    title: str
    section: str
    milliseconds: int


@dataclass
class Visit:
    views: int
    milliseconds: int


def build() -> App:
    app = App("clickstream")
    views = app.stream("views", key=str, value=View)
    users = app.table("users", key=str, value=User)
    pages = app.global_table("pages", key=str, value=Page)

    with_user = views.left_join(
        users,
        lambda view, user: {
            "user": user.name.or_else("unknown"),
            "country": user.country.or_else("??"),
            "page": view.page,
            "milliseconds": view.milliseconds,
        },
    )
    enriched = with_user.join(
        pages,
        lambda view, page: EnrichedView(view.user, view.country, page.title, page.section, view.milliseconds),
        on=lambda view: view.page,
    )
    enriched.to("enriched-views")

    visits = views.group_by_key().windowed_by(session(minutes=30))
    visits.summarize(lambda view: Visit(views=agg.count(), milliseconds=agg.sum(view.milliseconds)), store="visits")
    return app


RECORDS: list[tuple[str, Any, Any, int]] = [
    ("pages", "/", Page("Home", "start"), 0),
    ("pages", "/mugs", Page("Mugs", "shop"), 0),
    ("users", "u1", User("Ada", "UK"), 0),
    ("views", "u1", View("/", 1_200), 1 * MINUTE),
    ("views", "u2", View("/mugs", 800), 2 * MINUTE),
    ("users", "u2", User("Bob", "DE"), 3 * MINUTE),
    ("views", "u2", View("/mugs", 2_000), 4 * MINUTE),
    ("views", "u1", View("/mugs", 500), 50 * MINUTE),
]

app = build()

if __name__ == "__main__":
    app.run()
