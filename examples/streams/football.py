"""Football statistics: scores from goals, the league table from scores, and the scorers with their teams.

    headrace run examples/streams/football.py

A goal changes a match's score, a changed score changes the points of two teams: the points of the score before are taken out, those of the new
one put in. That is what tables do by themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.streams import App, KeyValue, agg, when


@dataclass
class Match:
    home: str
    away: str


@dataclass
class Goal:
    match: str
    scorer: str
    home: bool


@dataclass
class Player:
    name: str
    team: str


@dataclass
class Score:
    home: str
    away: str
    home_goals: int
    away_goals: int


@dataclass
class Scorer:
    player: str
    team: str
    goals: int


def build() -> App:
    app = App("football")
    matches = app.table("matches", key=str, value=Match)
    goals = app.stream("goals", key=str, value=Goal)
    players = app.table("players", key=str, value=Player)

    by_match = goals.select_key(lambda goal: goal.match).group_by_key()
    goals_of_match = by_match.summarize(
        lambda goal: {"home": agg.count_if(goal.home), "away": agg.count_if(~goal.home)}
    )
    scores = matches.left_join(
        goals_of_match,
        lambda match, goals: Score(match.home, match.away, goals.home.or_else(0), goals.away.or_else(0)),
        store="scores",
    )
    scores.to("scores")

    at_home = scores.group_by(lambda score: KeyValue(score.home, points(score.home_goals, score.away_goals)))
    at_home.reduce(lambda a, b: a + b, lambda a, b: a - b, store="home-points").to("home-points")

    goals_of_player = goals.group_by(lambda goal: goal.scorer).count()
    goals_of_player.join(players, lambda count, player: Scorer(player.name, player.team, count), store="scorers").to(
        "scorers"
    )
    return app


def points(ours: Any, theirs: Any) -> Any:
    return when(ours > theirs).then(3).when(ours == theirs).then(1).otherwise(0)


RECORDS: list[tuple[str, Any, Any, int]] = [
    ("matches", "m1", Match("Rovers", "United"), 0),
    ("matches", "m2", Match("Rovers", "City"), 0),
    ("players", "p7", Player("Kim", "Rovers"), 0),
    ("players", "p9", Player("Lee", "City"), 0),
    ("goals", "g1", Goal("m1", "p7", home=True), 1_000),
    ("goals", "g2", Goal("m2", "p9", home=False), 2_000),
    ("goals", "g3", Goal("m2", "p7", home=True), 3_000),
    ("goals", "g4", Goal("m2", "p7", home=True), 4_000),
]

app = build()

if __name__ == "__main__":
    app.run()
