"""Aggregates in windows of time."""

from __future__ import annotations

from conformance.streams.case import OUT, Item, topology
from conformance.streams.sequences import IN_ORDER, LATE, NULLS, OUT_OF_ORDER, SAME_TIME, SESSIONS
from conformance.streams.topologies.stateless import source
from headrace.streams import App, agg, fn, hopping, seconds, session, sliding, tumbling

MOST = (IN_ORDER, OUT_OF_ORDER, SAME_TIME)
TEN = tumbling(seconds(10), grace=seconds(60))


@topology(*MOST, NULLS)
def tumbling_count(app: App) -> None:
    source(app).group_by_key().windowed_by(TEN).count().to_stream().to(OUT)


@topology(*MOST)
def tumbling_sum_and_extremes(app: App) -> None:
    source(app).group_by_key().windowed_by(TEN).summarize(
        lambda i: {"total": agg.sum(i.n), "least": agg.min(i.n), "most": agg.max(i.n)}
    ).to_stream().to(OUT)


@topology(*MOST)
def tumbling_reduce(app: App) -> None:
    source(app).group_by_key().windowed_by(TEN).reduce(lambda old, new: Item(new.name, old.n + new.n)).to_stream().to(
        OUT
    )


@topology(IN_ORDER, OUT_OF_ORDER)
def tumbling_by_value(app: App) -> None:
    source(app).group_by(lambda i: fn.coalesce(i.name, "none")).windowed_by(TEN).count().to_stream().to(OUT)


@topology(LATE)
def tumbling_short_grace(app: App) -> None:
    source(app).group_by_key().windowed_by(tumbling(seconds(10), grace=seconds(5))).count().to_stream().to(OUT)


@topology(LATE)
def tumbling_no_grace(app: App) -> None:
    source(app).group_by_key().windowed_by(tumbling(seconds(10), grace=seconds(0))).count().to_stream().to(OUT)


@topology(*MOST)
def hopping_count(app: App) -> None:
    window = hopping(seconds(10), every=seconds(5), grace=seconds(60))
    source(app).group_by_key().windowed_by(window).count().to_stream().to(OUT)


@topology(IN_ORDER, OUT_OF_ORDER)
def hopping_sum(app: App) -> None:
    window = hopping(seconds(6), every=seconds(2), grace=seconds(60))
    source(app).group_by_key().windowed_by(window).summarize(lambda i: {"total": agg.sum(i.n)}).to_stream().to(OUT)


@topology(LATE)
def hopping_short_grace(app: App) -> None:
    window = hopping(seconds(10), every=seconds(5), grace=seconds(5))
    source(app).group_by_key().windowed_by(window).count().to_stream().to(OUT)


@topology(*MOST, SESSIONS)
def sliding_count(app: App) -> None:
    source(app).group_by_key().windowed_by(sliding(seconds(5), grace=seconds(600))).count().to_stream().to(OUT)


@topology(IN_ORDER, SESSIONS)
def sliding_sum(app: App) -> None:
    source(app).group_by_key().windowed_by(sliding(seconds(10), grace=seconds(600))).summarize(
        lambda i: {"total": agg.sum(i.n)}
    ).to_stream().to(OUT)


@topology(LATE)
def sliding_short_grace(app: App) -> None:
    source(app).group_by_key().windowed_by(sliding(seconds(5), grace=seconds(5))).count().to_stream().to(OUT)


@topology(*MOST, SESSIONS, NULLS)
def session_count(app: App) -> None:
    source(app).group_by_key().windowed_by(session(seconds(5), grace=seconds(600))).count().to_stream().to(OUT)


@topology(IN_ORDER, SESSIONS)
def session_sum(app: App) -> None:
    source(app).group_by_key().windowed_by(session(seconds(5), grace=seconds(600))).summarize(
        lambda i: {"rows": agg.count(), "total": agg.sum(i.n)}
    ).to_stream().to(OUT)


@topology(SESSIONS)
def session_reduce(app: App) -> None:
    source(app).group_by_key().windowed_by(session(seconds(8), grace=seconds(600))).reduce(
        lambda old, new: Item(new.name, old.n + new.n)
    ).to_stream().to(OUT)


@topology(LATE)
def session_short_grace(app: App) -> None:
    source(app).group_by_key().windowed_by(session(seconds(5), grace=seconds(5))).count().to_stream().to(OUT)


@topology(IN_ORDER, OUT_OF_ORDER)
def window_as_plain_key(app: App) -> None:
    source(app).group_by_key().windowed_by(TEN).count().to_stream().map_values(lambda n: n + 0).filter(
        lambda n: n > 1
    ).to(OUT)


@topology(LATE)
def final_results(app: App) -> None:
    window = tumbling(seconds(10), grace=seconds(5))
    source(app).group_by_key().windowed_by(window).emit_strategy("on_window_close").count().to_stream().to(OUT)


@topology(LATE)
def suppressed_until_the_window_closes(app: App) -> None:
    window = tumbling(seconds(10), grace=seconds(5))
    source(app).group_by_key().windowed_by(window).count().suppress().to_stream().to(OUT)


@topology(LATE)
def sessions_suppressed_until_they_close(app: App) -> None:
    source(app).group_by_key().windowed_by(session(seconds(5), grace=seconds(5))).count().suppress().to_stream().to(OUT)
