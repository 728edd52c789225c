"""Trending words: how often each was used in the last minute, every ten seconds.

    headrace run examples/emergency/trending.py

Words of four letters and more and hashtags, of posts about something the centre cares for and of every tag. The window slides incrementally: what falls
out of it is subtracted.
"""

from __future__ import annotations

from emergency import Post, Word

from headrace.streams import App, fn, hopping, minutes, seconds

LAST_MINUTE = hopping(minutes=1, every=seconds(10), incremental=True, grace=minutes(5))
WORDS = "#?[\\p{L}]{5,}"
LEAST = 20


def build() -> App:
    app = App("emergency-trending", guarantee="exactly_once")
    reports = app.stream("reports", key=str, value=Post, timestamp=lambda post: post.time)
    words = reports.flat_map_values(lambda post: fn.array_distinct(fn.regexp_extract_all(post.text.lower(), WORDS, 0)))
    uses = words.map(lambda key, word: (word, 1))
    counts = uses.group_by_key().windowed_by(LAST_MINUTE).reduce(lambda a, b: a + b, lambda a, b: a - b).to_stream()
    counts.filter(lambda window, uses: uses >= LEAST).map(
        lambda window, uses: (window.key, Word(word=window.key, uses=uses, until=window.end))
    ).to("trending-words")
    return app


SETTINGS = {"trigger_ms": 5_000}
app = build()

if __name__ == "__main__":
    app.run(**SETTINGS)
