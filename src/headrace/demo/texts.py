"""What people write: everyday things, football, weather, jokes about earthquakes, advertising; and what they write when something happens.

In Spanish and English. A pool of texts is made once from a seed, each already in JSON, so that a post costs no more than choosing one.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import NamedTuple

from headrace.demo.scenario import Kind

SPANISH_SHARE = 0.72


class Text(NamedTuple):
    """A text as it stands in JSON, without its quotes."""

    language: bytes
    json: bytes


_THINGS_ES = (
    "el café",
    "el metro",
    "la siesta",
    "mi perro",
    "el examen",
    "la paella",
    "el curro",
    "la playa",
    "el gimnasio",
    "la serie nueva",
)
_THINGS_EN = (
    "coffee",
    "the metro",
    "my dog",
    "the exam",
    "this paella",
    "work",
    "the beach",
    "the gym",
    "that new series",
    "the market",
)
_FEEL_ES = (
    "me encanta",
    "no puedo con",
    "otra vez",
    "qué pereza",
    "por fin",
    "hoy toca",
    "se acabó",
    "echo de menos",
    "qué maravilla",
    "vaya con",
)
_FEEL_EN = (
    "loving",
    "so done with",
    "again",
    "finally",
    "missing",
    "best thing today:",
    "can't stand",
    "thinking about",
    "late because of",
    "thanks to",
)
_TAGS = (
    "",
    "",
    "",
    "",
    " #lunes",
    " #Madrid",
    " #finde",
    " #foodie",
    " #music",
    " #siesta",
    " 😀",
    " 😴",
    " ❤️",
    " jajaja",
    " lol",
)
_WEATHER_ES = (
    "Qué calor hace hoy",
    "Por fin llueve un poco",
    "Menudo viento",
    "Cielo despejado y 24 grados",
    "Niebla esta mañana",
)
_WEATHER_EN = ("So hot today", "Finally some rain", "What a wind", "Clear sky and 24 degrees", "Foggy morning")
_FOOTBALL_ES = (
    "Hoy hay partido",
    "Ese árbitro no ve nada",
    "Vaya parada del portero",
    "¿A qué hora juega el equipo?",
    "Derbi esta noche",
)
_FOOTBALL_EN = (
    "Match day!",
    "That referee is blind",
    "What a save by the keeper",
    "When is kick-off?",
    "Derby tonight",
)
_TRAFFIC_ES = ("Atasco en la salida, como siempre", "Tráfico lento esta mañana", "Obras otra vez en la autovía")
_TRAFFIC_EN = ("Stuck in traffic as always", "Slow roads this morning", "Roadworks on the motorway again")
_QUAKE_JOKES_ES = (
    "Mi vecino baila y parece un terremoto jajaja",
    "Mi sobrino es un terremoto, no para",
    "Con este café me tiembla hasta el alma, ni un sismo",
    "Mi lunes: terremoto emocional de magnitud 9",
)
_QUAKE_JOKES_EN = (
    "My toddler is a human earthquake lol",
    "That bass drop was an earthquake haha",
    "My stomach growls like an earthquake, need lunch",
    "Upstairs neighbours doing earthquake cosplay again",
)
_SPAM = (
    "GANA DINERO desde casa http://oferta.example/{}",
    "FREE followers here http://click.example/{}",
    "Oferta -70% SOLO HOY http://promo.example/{}",
)

_REACTIONS: dict[Kind, tuple[tuple[str, ...], tuple[str, ...]]] = {
    Kind.EARTHQUAKE: (
        ("¿Habéis notado el temblor?", "¡TERREMOTO! Se ha movido toda la casa", "Acaba de temblar el suelo aquí", "Un terremoto, se han caído cosas de la estantería",
         "Sismo muy fuerte, estamos todos en la calle", "Ha temblado todo durante unos segundos #terremoto", "Mi lámpara no para de moverse, ¿terremoto?", "Seísmo en {place}, ¿estáis bien?"),
        ("Did anyone feel that earthquake??", "EARTHQUAKE in {place}, the whole house moved", "The ground is shaking here", "Strong tremor just now, everyone out on the street",
         "Things fell off the shelves, that was an earthquake", "Earthquake! Stay safe {place} #earthquake"),
    ),
    Kind.GOAL: (
        ("¡GOOOOL!", "¡GOLAZO! Qué locura", "Goool, el estadio es un terremoto", "Ha temblado el barrio entero con el gol", "¡Vamos! Gol en el último minuto", "Terremoto en las gradas, GOOOL", "Qué gol, madre mía"),
        ("GOOOAL!", "What a goal, unbelievable", "GOAL! The stadium is shaking like an earthquake", "That goal was an earthquake", "Last-minute goal, I can't breathe"),
    ),
    Kind.ACCIDENT: (
        ("Accidente en la autovía cerca de {place}, todo parado", "Choque de varios coches, cuidado", "Accidente grave, hay ambulancias #trafico", "Llevo 10 minutos parado por un accidente"),
        ("Car crash near {place}, nothing moves", "Bad accident on the motorway, ambulances here", "Pile-up ahead, take another road", "Standing still because of an accident"),
    ),
    Kind.JOKE: (
        ("RT @elhumorista: mi suegra en la pista de baile: terremoto de magnitud 8 jajaja",),
        ("RT @thefunnyone: my mother-in-law on the dance floor: earthquake of magnitude 8 lol",),
    ),
}  # fmt: skip

# Share of ordinary posts, Spanish texts, English texts.
_ORDINARY: tuple[tuple[float, Sequence[str], Sequence[str]], ...] = (
    (0.070, _WEATHER_ES, _WEATHER_EN),
    (0.090, _FOOTBALL_ES, _FOOTBALL_EN),
    (0.030, _TRAFFIC_ES, _TRAFFIC_EN),
    (0.004, _QUAKE_JOKES_ES, _QUAKE_JOKES_EN),
)
_SPAM_SHARE = 0.05
_REPOST_SHARE = 0.10


def ordinary_pool(seed: int, size: int = 4000) -> list[Text]:
    """Ordinary posts in the mix that they come in."""
    chance = random.Random(seed)  # noqa: S311 - nothing here is a secret
    return [_encoded(*_ordinary(chance)) for _ in range(size)]


def reaction_pool(kind: Kind, place: str, seed: int, size: int = 200) -> list[Text]:
    """What people write about an incident."""
    chance = random.Random(seed)  # noqa: S311 - nothing here is a secret
    spanish, english = _REACTIONS[kind]
    pool = []
    for _ in range(size):
        language, texts = ("es", spanish) if chance.random() < SPANISH_SHARE else ("en", english)
        shout = chance.choice(("", "", "!!", " 😱", " ...")) if kind is not Kind.JOKE else ""
        pool.append(_encoded(language, chance.choice(texts).format(place=place) + shout))
    return pool


def _ordinary(chance: random.Random) -> tuple[str, str]:
    spanish = chance.random() < SPANISH_SHARE
    text = _body(chance, spanish=spanish)
    if chance.random() < _REPOST_SHARE:
        text = f"RT @user{chance.randrange(5000)}: {text}"
    return ("es" if spanish else "en"), text


def _body(chance: random.Random, *, spanish: bool) -> str:
    roll = chance.random()
    if roll < _SPAM_SHARE:
        return chance.choice(_SPAM).format(chance.randrange(1000))
    roll -= _SPAM_SHARE
    for share, in_spanish, in_english in _ORDINARY:
        if roll < share:
            return chance.choice(in_spanish if spanish else in_english) + chance.choice(_TAGS)
        roll -= share
    feel, thing = (_FEEL_ES, _THINGS_ES) if spanish else (_FEEL_EN, _THINGS_EN)
    return f"{chance.choice(feel).capitalize()} {chance.choice(thing)}{chance.choice(_TAGS)}"


def _encoded(language: str, text: str) -> Text:
    return Text(language.encode(), json.dumps(text, ensure_ascii=False)[1:-1].encode())
