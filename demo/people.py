"""Names and countries for the members of the demo, so that its page looks like a leaderboard."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Final
from urllib.parse import quote

from demo import api
from demo.embedded.stack import Deployment

_AT_ONCE: Final = 4
_UNNAMED: Final = 0.1
_PEOPLE: Final = {
    "BR": "Beatriz Caio Lívia Davi / Lima Rocha Prado Moura",
    "DE": "Jonas Lena Mia Felix / Weber Köhler Brandt Otto",
    "EG": "ليلى كريم سلمى يوسف / حسن منصور سالم فؤاد",
    "ES": "Nuria Iker Alba Hugo / Vidal Soto Rey Mora",
    "FR": "Élise Noé Inès Léo / Morel Garnier Petit Barbier",
    "GR": "Ελένη Νίκος Δάφνη Πέτρος / Μάρκου Λάμπρου Ρήγα Δήμου",
    "IN": "Asha Kiran Dev Isha / Rao Nair Mehta Kapoor",
    "JP": "葵 蓮 凛 湊 / 佐藤 鈴木 高橋 田中",
    "KR": "Seo-yeon Min-jun Ji-woo Ha-jun / Kim Lee Park Choi",
    "NG": "Ada Tunde Zainab Emeka / Obi Bello Musa Eze",
    "PL": "Zofia Kuba Hania Olek / Wójcik Zając Król Duda",
    "TR": "Elif Deniz Ece Kerem / Kaya Şahin Yılmaz Aydın",
    "UA": "Олена Тарас Марія Іван / Бондар Мельник Коваль Лисенко",
    "US": "Harper Miles Nora Owen / Quinn Carter Hayes Brooks",
}
_FAMILY_FIRST: Final = {"JP", "KR"}


def profile(member: str) -> dict[str, str] | None:
    """Make up a name and a country, always the same for a member. A few members have none, and their ids are shown."""
    rng = Random(member)
    if rng.random() < _UNNAMED:
        return None
    country = rng.choice(sorted(_PEOPLE))
    given, family = (rng.choice(some.split()) for some in _PEOPLE[country].split(" / "))
    parts = (family, given) if country in _FAMILY_FIRST else (given, family)
    return {"name": " ".join(parts), "country": country}


def name(deployment: Deployment, members: Sequence[str]) -> None:
    """Write a profile of most members; `api.NoAnswerError` or `api.ProblemError` if one cannot be written."""

    def put(member: str) -> None:
        if (made := profile(member)) is None:
            return
        api.call("PUT", f"{deployment.api_url}/members?id={quote(member, safe='')}", made)

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        list(pool.map(put, members))
