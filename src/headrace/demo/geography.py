"""Where the scenario plays: places of Spain with their region, position and people, hospitals, and stretches of road. Facts, rounded; no code of interest."""

from __future__ import annotations

import math
from typing import NamedTuple


class Place(NamedTuple):
    """A city. `code` is what records carry."""

    code: str
    name: str
    region: str
    latitude: float
    longitude: float
    people: int


class Hospital(NamedTuple):
    """A region's hospital of reference, for what an alert says."""

    region: str
    name: str
    place: str
    beds: int


class Stretch(NamedTuple):
    """A stretch of road with a counting loop: the speed at which it usually flows."""

    code: str
    road: str
    place: str
    speed_kmh: int


PLACES = tuple(
    Place(*row)
    for row in (
        ("MAD", "Madrid", "Madrid", 40.42, -3.70, 3_330_000),
        ("ALC", "Alcalá de Henares", "Madrid", 40.48, -3.36, 196_000),
        ("BCN", "Barcelona", "Cataluña", 41.39, 2.17, 1_660_000),
        ("GIR", "Girona", "Cataluña", 41.98, 2.82, 104_000),
        ("LLE", "Lleida", "Cataluña", 41.62, 0.62, 141_000),
        ("TAR", "Tarragona", "Cataluña", 41.12, 1.25, 138_000),
        ("VLC", "Valencia", "Comunidad Valenciana", 39.47, -0.38, 807_000),
        ("ALI", "Alicante", "Comunidad Valenciana", 38.35, -0.48, 349_000),
        ("CAS", "Castellón", "Comunidad Valenciana", 39.99, -0.04, 176_000),
        ("SVQ", "Sevilla", "Andalucía", 37.39, -5.98, 684_000),
        ("MAL", "Málaga", "Andalucía", 36.72, -4.42, 586_000),
        ("GRX", "Granada", "Andalucía", 37.18, -3.60, 230_000),
        ("ALM", "Almería", "Andalucía", 36.84, -2.46, 200_000),
        ("COR", "Córdoba", "Andalucía", 37.89, -4.78, 323_000),
        ("CAD", "Cádiz", "Andalucía", 36.53, -6.29, 112_000),
        ("HUE", "Huelva", "Andalucía", 37.26, -6.95, 142_000),
        ("JAE", "Jaén", "Andalucía", 37.77, -3.79, 112_000),
        ("MUR", "Murcia", "Región de Murcia", 37.98, -1.13, 469_000),
        ("LOR", "Lorca", "Región de Murcia", 37.67, -1.70, 97_000),
        ("CTG", "Cartagena", "Región de Murcia", 37.61, -0.99, 219_000),
        ("ZAZ", "Zaragoza", "Aragón", 41.65, -0.89, 683_000),
        ("HSC", "Huesca", "Aragón", 42.14, -0.41, 54_000),
        ("TER", "Teruel", "Aragón", 40.34, -1.11, 36_000),
        ("BIO", "Bilbao", "País Vasco", 43.26, -2.93, 348_000),
        ("VIT", "Vitoria", "País Vasco", 42.85, -2.67, 255_000),
        ("EAS", "San Sebastián", "País Vasco", 43.32, -1.98, 189_000),
        ("PNA", "Pamplona", "Navarra", 42.81, -1.65, 206_000),
        ("LOG", "Logroño", "La Rioja", 42.47, -2.45, 151_000),
        ("SDR", "Santander", "Cantabria", 43.46, -3.81, 173_000),
        ("OVD", "Oviedo", "Asturias", 43.36, -5.85, 218_000),
        ("GIJ", "Gijón", "Asturias", 43.54, -5.66, 269_000),
        ("LCG", "A Coruña", "Galicia", 43.36, -8.41, 247_000),
        ("VGO", "Vigo", "Galicia", 42.24, -8.72, 293_000),
        ("LUG", "Lugo", "Galicia", 43.01, -7.56, 98_000),
        ("OUR", "Ourense", "Galicia", 42.34, -7.86, 103_000),
        ("VLL", "Valladolid", "Castilla y León", 41.65, -4.72, 297_000),
        ("LEN", "León", "Castilla y León", 42.60, -5.57, 122_000),
        ("BUR", "Burgos", "Castilla y León", 42.34, -3.70, 174_000),
        ("SLM", "Salamanca", "Castilla y León", 40.97, -5.66, 143_000),
        ("TOL", "Toledo", "Castilla-La Mancha", 39.86, -4.02, 86_000),
        ("ALB", "Albacete", "Castilla-La Mancha", 38.99, -1.86, 173_000),
        ("CRE", "Ciudad Real", "Castilla-La Mancha", 38.99, -3.93, 75_000),
        ("BJZ", "Badajoz", "Extremadura", 38.88, -6.97, 151_000),
        ("CAC", "Cáceres", "Extremadura", 39.48, -6.37, 96_000),
        ("PMI", "Palma", "Illes Balears", 39.57, 2.65, 423_000),
    )
)
BY_CODE = {place.code: place for place in PLACES}

HOSPITALS = tuple(
    Hospital(*row)
    for row in (
        ("Madrid", "Hospital La Paz", "MAD", 1_300),
        ("Cataluña", "Hospital Vall d'Hebron", "BCN", 1_100),
        ("Comunidad Valenciana", "Hospital La Fe", "VLC", 1_000),
        ("Andalucía", "Hospital Virgen del Rocío", "SVQ", 1_250),
        ("Región de Murcia", "Hospital Virgen de la Arrixaca", "MUR", 900),
        ("Aragón", "Hospital Miguel Servet", "ZAZ", 1_250),
        ("País Vasco", "Hospital de Cruces", "BIO", 850),
        ("Navarra", "Hospital Universitario de Navarra", "PNA", 1_050),
        ("La Rioja", "Hospital San Pedro", "LOG", 600),
        ("Cantabria", "Hospital Marqués de Valdecilla", "SDR", 900),
        ("Asturias", "Hospital Central de Asturias", "OVD", 1_000),
        ("Galicia", "Hospital de A Coruña", "LCG", 1_400),
        ("Castilla y León", "Hospital Clínico de Valladolid", "VLL", 800),
        ("Castilla-La Mancha", "Hospital de Toledo", "TOL", 850),
        ("Extremadura", "Hospital de Badajoz", "BJZ", 900),
        ("Illes Balears", "Hospital Son Espases", "PMI", 1_000),
    )
)

STRETCHES = tuple(
    Stretch(*row)
    for row in (
        ("A7-VLC", "A-7", "VLC", 115),
        ("A7-ALI", "A-7", "ALI", 112),
        ("A7-MUR", "A-7", "MUR", 110),
        ("A7-ALM", "A-7", "ALM", 113),
        ("AP7-TAR", "AP-7", "TAR", 118),
        ("AP7-GIR", "AP-7", "GIR", 116),
        ("A2-ZAZ", "A-2", "ZAZ", 114),
        ("A2-LLE", "A-2", "LLE", 112),
        ("A1-BUR", "A-1", "BUR", 117),
        ("A3-ALB", "A-3", "ALB", 115),
        ("A4-COR", "A-4", "COR", 113),
        ("A4-JAE", "A-4", "JAE", 110),
        ("A5-BJZ", "A-5", "BJZ", 116),
        ("A6-LEN", "A-6", "LEN", 114),
        ("A66-CAC", "A-66", "CAC", 115),
        ("A92-GRX", "A-92", "GRX", 110),
        ("M40-MAD", "M-40", "MAD", 88),
        ("A8-SDR", "A-8", "SDR", 108),
        ("AP9-VGO", "AP-9", "VGO", 110),
        ("B20-BCN", "B-20", "BCN", 78),
    )
)


def kilometres(one: Place, other: Place) -> float:
    """Between two places, on a sphere."""
    first, second = math.radians(one.latitude), math.radians(other.latitude)
    apart = math.radians(other.longitude - one.longitude)
    cosine = math.sin(first) * math.sin(second) + math.cos(first) * math.cos(second) * math.cos(apart)
    return 6371 * math.acos(max(-1.0, min(1.0, cosine)))
