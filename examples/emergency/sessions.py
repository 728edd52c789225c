"""Sessions: what each user wrote without a pause of a minute. Who never pauses is no person.

    headrace run examples/emergency/sessions.py

Sessions grow and merge as posts come in any order; long ones are written. Nobody waits for it, so it takes its posts in
batches of ten seconds, which is cheap, and counts each once.
"""

from __future__ import annotations

from emergency import Post, Visit

from headrace.streams import App, agg, seconds, session

LONG, TIRELESS = 20, 60


def build() -> App:
    app = App("emergency-sessions", guarantee="exactly_once")
    posts = app.stream("posts", key=str, value=Post, timestamp=lambda post: post.time)
    sessions = posts.group_by_key().windowed_by(session(minutes=1, grace=seconds(30)))
    counted = sessions.summarize(lambda post: {"posts": agg.count(), "reposts": agg.count_if(post.repost)})
    long = counted.to_stream().filter(lambda session: session.posts >= LONG)
    long.map(
        lambda window, session: (
            window.key,
            Visit(
                posts=session.posts,
                reposts=session.reposts,
                seconds=(window.end - window.start) // 1000,
                tireless=session.posts >= TIRELESS,
            ),
        )
    ).to("user-sessions")
    return app


SETTINGS = {"trigger_ms": 10_000}
app = build()

if __name__ == "__main__":
    app.run(**SETTINGS)
