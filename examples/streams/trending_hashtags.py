"""Trending hashtags: how often each was used in the last ten minutes, every minute.

    headrace run examples/streams/trending_hashtags.py

The window slides incrementally: a post that comes is added, one that is ten minutes old is taken out again with the inverse. What a post costs does not
depend on the window's length.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.streams import App, fn, minutes

MINUTE = 60_000


@dataclass
class Post:
    author: str
    text: str


def build() -> App:
    app = App("trending-hashtags")
    posts = app.stream("posts", key=str, value=Post)

    hashtags = posts.flat_map_values(lambda post: fn.regexp_extract_all(post.text.lower(), "#[a-z0-9_]+", 0))
    uses = hashtags.map(lambda author, hashtag: (hashtag, 1))
    trending = uses.reduce_by_key_and_window(
        lambda count, one: count + one, lambda count, one: count - one, minutes(10), minutes(1)
    )
    trending.map(lambda window, count: (window.key, {"until": window.end // 60_000, "uses": count})).to("trending")
    return app


RECORDS: list[tuple[str, Any, Any, int]] = [
    ("posts", "ada", Post("ada", "Reading about #Kafka and #streams"), 0 * MINUTE + 1),
    ("posts", "bob", Post("bob", "#kafka again"), 1 * MINUTE + 1),
    ("posts", "eve", Post("eve", "nothing to tag"), 2 * MINUTE + 1),
    ("posts", "ada", Post("ada", "#kafka #kafka"), 5 * MINUTE + 1),
    ("posts", "bob", Post("bob", "#late"), 30 * MINUTE + 1),
    ("posts", "bob", Post("bob", "#later"), 31 * MINUTE + 1),
]

app = build()

if __name__ == "__main__":
    app.run()
