"""Posts, parsed and cleaned: what makes no sense goes to the side, the rest gets a subject.

    headrace run examples/emergency/posts.py

A post that is no JSON at all never gets here: it leaves for the processing log by itself, with its offset and the reason. Posts about something that the
centre cares for are written a second time, keyed by place and subject, for the pipelines that count them: they are a few in a hundred.
"""

from __future__ import annotations

from typing import Any

from emergency import Post, RawPost, Rejected

from headrace.streams import App, fn, when

EARTHQUAKE = "terremoto|tembl|tiembla|sismo|seísmo|earthquake|tremor|shaking|shakes"
ACCIDENT = "accidente|choque|atropello|crash|pile-up|accident"
FOOTBALL = "go+l\\b|golazo|goo+al|\\bgoal\\b|partido|árbitro|derbi|derby|referee|portero|keeper"
OLDEST_MS = 1_000_000_000_000


def build() -> App:
    app = App("emergency-posts")
    raw = app.stream("social-posts", key=str, value=RawPost)
    fit = raw.filter(lambda post: problem(post) == "")
    raw.filter(lambda post: problem(post) != "").map_values(lambda post: Rejected(problem(post), post)).to(
        "posts-rejected"
    )

    posts = fit.map_values(
        lambda post: Post(
            id=post.id,
            user=post.user,
            place=post.place,
            lang=post.lang.or_else("?"),
            text=post.text,
            subject=subject(post.text.lower()),
            repost=post.text.startswith("RT @"),
            time=post.time,
        )
    )
    posts.to("posts")
    about = posts.filter(lambda post: (post.subject != "other") & ~post.repost)
    about.select_key(lambda post: post.place + "|" + post.subject).to("reports")
    return app


def problem(post: Any) -> Any:
    """What is wrong with a post; empty if nothing is."""
    return (
        when((post.id == None) | (post.user == None))  # noqa: E711 - on columns
        .then("nobody wrote it")
        .when((post.place == None) | ~fn.regexp_like(post.place.or_else(""), "^[A-Z]{3}$"))  # noqa: E711
        .then("it comes from nowhere")
        .when((post.time == None) | (post.time < OLDEST_MS))  # noqa: E711
        .then("it has no time")
        .when((post.text == None) | (post.text == ""))  # noqa: E711
        .then("it says nothing")
        .otherwise("")
    )


def subject(text: Any) -> Any:
    return (
        when(fn.regexp_like(text, EARTHQUAKE))
        .then("earthquake")
        .when(fn.regexp_like(text, ACCIDENT))
        .then("accident")
        .when(fn.regexp_like(text, FOOTBALL))
        .then("football")
        .otherwise("other")
    )


app = build()

if __name__ == "__main__":
    app.run()
