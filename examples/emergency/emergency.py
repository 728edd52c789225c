"""The records of the emergency centre: what the pipelines beside this file read from one another. Times are milliseconds of event time."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class RawPost:
    """`social-posts`, as they come: any field may be missing."""

    id: str | None
    user: str | None
    place: str | None
    lang: str | None
    text: str | None
    time: int | None


@dataclass
class Post:
    """`posts`: fit for use. `subject` is what it seems to be about, "other" mostly; `repost`: somebody else's words."""

    id: str
    user: str
    place: str
    lang: str
    text: str
    subject: str
    repost: bool
    time: int


@dataclass
class Rejected:
    """`posts-rejected`: a post that could be read and makes no sense, and why."""

    reason: str
    post: RawPost


@dataclass
class Place:
    """`places`, by code."""

    name: str
    region: str
    latitude: float
    longitude: float
    people: int


@dataclass
class Hospital:
    """`hospitals`, by region."""

    name: str
    place: str
    beds: int


@dataclass
class Burst:
    """`bursts`, by region: many more posts on a subject from a place than it had in the recent past."""

    place: str
    name: str
    region: str
    latitude: float
    longitude: float
    people: int
    subject: str
    posts: int
    usual: float
    time: int


@dataclass
class Reading:
    """`seismic-readings`: the strongest shaking of the last moment, in cm/s²."""

    sensor: str
    place: str
    region: str
    pga: float
    time: int


@dataclass
class Peak:
    """`sensor-peaks`: one sensor far above its own noise."""

    sensor: str
    place: str
    region: str
    pga: float
    usual: float
    time: int


@dataclass
class Shaking:
    """`shaking`, by region: several sensors at once. One alone may be mad."""

    region: str
    sensors: int
    pga: float
    time: int


@dataclass
class Traffic:
    """`road-traffic`: the mean speed on a stretch of road."""

    stretch: str
    road: str
    place: str
    region: str
    speed: float
    vehicles: int
    time: int


@dataclass
class Jam:
    """`jams`, by place: a stretch on which nothing moves any more."""

    stretch: str
    road: str
    place: str
    region: str
    speed: float
    usual: float
    time: int


@dataclass
class Headline:
    """`news-headlines`."""

    id: int
    agency: str
    headline: str
    place: str
    region: str
    time: int


@dataclass
class Alert:
    """`alerts`, by region: something that people must know, and why we think so."""

    id: str
    kind: str
    level: str
    place: str
    name: str
    region: str
    latitude: float
    longitude: float
    people: int
    reason: str
    hospital: str
    beds: int
    time: int


@dataclass
class Visit:
    """`user-sessions`, by user: what somebody wrote without a pause of a minute, where it is much."""

    posts: int
    reposts: int
    seconds: int
    tireless: bool


@dataclass
class Word:
    """`trending-words`, by word: how often it was used in the last minute."""

    word: str
    uses: int
    until: int


@dataclass
class Situation:
    """The table `situation`, by region: what is known at the moment."""

    alerts: int
    alert: str
    alert_time: int
    bursts: int
    burst: str
    burst_time: int
    sensors: int
    pga: float
    shaking_time: int
    headline: str
    updated: int
