"""Names and countries for the members of the demo, so that its page looks like a leaderboard."""

import json
import urllib.request
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Final
from urllib.parse import quote

from demo.embedded.stack import Deployment

_AT_ONCE: Final = 4
_UNNAMED: Final = 0.1
_TIMEOUT_S: Final = 30
_PEOPLE: Final = {
    "BR": ("Beatriz Lima", "Caio Rocha", "Lívia Prado", "Davi Moura"),
    "DE": ("Jonas Weber", "Lena Köhler", "Mia Brandt", "Felix Otto"),
    "ES": ("Nuria Vidal", "Iker Soto", "Alba Rey", "Hugo Mora"),
    "FR": ("Élise Morel", "Noé Garnier", "Inès Petit", "Léo Barbier"),
    "IN": ("Asha Rao", "Kiran Nair", "Dev Mehta", "Isha Kapoor"),
    "JP": ("佐藤 葵", "鈴木 蓮", "高橋 凛", "田中 湊"),
    "NG": ("Ada Obi", "Tunde Bello", "Zainab Musa", "Emeka Eze"),
    "PL": ("Zofia Wójcik", "Kuba Zając", "Hania Król", "Olek Duda"),
    "US": ("Harper Quinn", "Miles Carter", "Nora Hayes", "Owen Brooks"),
    "TR": ("Elif Kaya", "Deniz Şahin", "Ece Yılmaz", "Kerem Aydın"),
}


def profiles(rng: Random, members: Sequence[str]) -> dict[str, dict[str, str]]:
    """Draw profiles. A few members have none, and their ids are shown."""
    found: dict[str, dict[str, str]] = {}
    for number, member in enumerate(members):
        country = rng.choice(sorted(_PEOPLE))
        first, last = rng.choice(_PEOPLE[country]).split(" ")
        name = f"{first} {last}" if number < len(_PEOPLE) else f"{first} {last[0]}. {rng.randrange(10, 100)}"
        if rng.random() >= _UNNAMED:
            found[member] = {"name": name, "country": country}
    return found


def name(deployment: Deployment, rng: Random, members: Sequence[str]) -> None:
    """Write a profile of most members."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def put(one: tuple[str, dict[str, str]]) -> None:
        member, profile = one
        address = f"{deployment.api_url}/members?id={quote(member, safe='')}"
        request = urllib.request.Request(address, json.dumps(profile).encode(), method="PUT")  # noqa: S310 - loopback
        with opener.open(request, timeout=_TIMEOUT_S):
            pass

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        list(pool.map(put, profiles(rng, members).items()))
