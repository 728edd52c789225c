"""Bursts: where people suddenly write about a subject many times as often as they did a moment ago.

    headrace run examples/emergency/bursts.py

Posts of each place and subject are counted over the last five seconds, every second, in an incremental sliding window. Each count meets the mean of the
recent past, which forgets by half in twenty seconds: so a burst is one by day, and by night with a tenth of the posts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from emergency import Burst, Place, Post

from headrace.streams import App, fn, hopping, minutes, seconds, when

LAST_SECONDS = hopping(seconds=5, every=seconds(1), incremental=True, grace=minutes(5))
FORGET_MS = 29_000.0
LEAST, TIMES = 8, 4.0


@dataclass
class Level:
    """What is remembered of a place and subject: the mean of the past, and whether the newest count is far above it."""

    end: int
    posts: int
    usual: float
    bursting: bool


def build() -> App:
    app = App("emergency-bursts")
    reports = app.stream("reports", key=str, value=Post, timestamp=lambda post: post.time)
    places = app.global_table("places", key=str, value=Place)

    # Phones send a post again when the line is bad.
    once = reports.deduplicate(minutes(5), by=lambda post: post.id)
    windows = once.map_values(lambda post: 1).group_by_key().windowed_by(LAST_SECONDS)
    counts = windows.reduce(lambda a, b: a + b, lambda a, b: a - b)
    ends = counts.to_stream().map(lambda window, posts: (window.key, {"end": window.end, "posts": posts}))
    levels = ends.group_by_key().aggregate(Level(0, 0, 0.0, False), compare)
    bursting = levels.to_stream().filter(lambda level: level.bursting)
    bursting.join(
        places,
        lambda key, level, place: Burst(
            place=fn.split_part(key, "|", 1),
            name=place.name,
            region=place.region,
            latitude=place.latitude,
            longitude=place.longitude,
            people=place.people,
            subject=fn.split_part(key, "|", 2),
            posts=level.posts,
            usual=fn.round(level.usual, 1),
            time=level.end,
        ),
        on=lambda key, level: fn.split_part(key, "|", 1),
    ).select_key(lambda burst: burst.region).to("bursts")
    return app


def compare(level: Any, window: Any) -> Any:
    """The next count against the mean of those before it. A window that is corrected by a late post changes nothing any more."""
    new = window.end > level.end
    kept = when(level.end == 0).then(0.0).otherwise(fn.exp((level.end - window.end) / FORGET_MS))
    mean = level.usual * kept + window.posts * (1.0 - kept)
    return Level(
        end=fn.greatest(level.end, window.end),
        posts=when(new).then(window.posts).otherwise(level.posts),
        usual=when(new).then(mean).otherwise(level.usual),
        # The first count of all is the first that is known to be usual.
        bursting=new & (level.end > 0) & (window.posts >= LEAST) & (window.posts > TIMES * (level.usual + 0.5)),
    )


app = build()

if __name__ == "__main__":
    app.run()
