"""Figures of the pages: tables and pictures are made from the committed results, sentences have their figures."""

import json
from collections import Counter

import pytest

from benchmarks import __main__ as bench
from benchmarks.harness.results_file import REPOSITORY, Output
from benchmarks.measure import lanes, posting, reads, tabs
from benchmarks.measure.speed import speed
from benchmarks.models import assumed
from benchmarks.models.cost import cost_page, doors, league, provisioned, spending
from benchmarks.models.cost.prices import MILLION, Bill, read_prices
from benchmarks.models.cost.services import SERVICES
from tests.faults.safeguards import __main__ as search
from tests.support.documents.pages import DECISIONS, PAGES
from tests.template.expansion import expanded, source

COMMITTED = Output()
RESULTS = {name: bench.load(name).committed() for name in (*bench.MODULES, *bench.NAMED)}
READS = {(row["board"], row["members"], row["read"]): row["read_units_most"] for row in RESULTS["reads"]["reads"]}
COST = RESULTS["cost"]
TABLES = {
    **{
        f"{name} {mark} {page}": (page, lines(RESULTS[name]))
        for name in RESULTS
        for page, tables in bench.load(name).tables.items()
        for mark, lines in tables.items()
    },
    "noticed": (search.PAGE, search.noticed(search.read(COMMITTED))),
}
PICTURES = {
    path: (svg, *bench.load(name).tables)
    for name in bench.MODULES
    for path, svg in bench.load(name).pictures(RESULTS[name]).items()
}


def text_of(page: str) -> str:
    """Return the text of a page, with one space between words."""
    return " ".join((REPOSITORY / page).read_text(encoding="utf-8").split())


@pytest.mark.parametrize("table", TABLES)
def test_a_table_matches_its_result(table: str) -> None:
    page, lines = TABLES[table]

    assert "` -->\n" + "\n".join(lines) + "\n<!-- /" in (REPOSITORY / page).read_text(encoding="utf-8")


def test_no_page_has_a_table_that_is_not_compared() -> None:
    marked = {
        str(page.relative_to(REPOSITORY)): page.read_text(encoding="utf-8").count(": written by `")
        for page in (*PAGES, *DECISIONS)
    }

    assert Counter(page for page, _ in TABLES.values()) == {page: count for page, count in marked.items() if count}


@pytest.mark.parametrize("path", PICTURES)
def test_a_picture_matches_its_result(path: str) -> None:
    svg, *pages = PICTURES[path]

    assert (REPOSITORY / path).read_text(encoding="utf-8") == svg
    assert any(path.removeprefix("docs/") in text_of(page) for page in pages)


def test_every_budget_is_met_and_reads_are_right() -> None:
    checked = RESULTS["budgets"]["budgets"]

    assert len(checked) >= 40
    assert [budget["subject"] for budget in checked if not budget["met"]] == []
    assert RESULTS["reads"]["answers_wrong"] == 0


def test_only_busy_boards_pay_for_lanes() -> None:
    busy = {(row["projectors"], row["most_lanes"]): row for row in RESULTS["lanes"]["busy"]}

    for count in lanes.PROJECTORS[2:]:
        with_lanes, without = busy[count, 4], busy[count, 1]
        assert with_lanes["moves_per_second"] > 2 * without["moves_per_second"]
        assert with_lanes["cancelled_share"] < without["cancelled_share"]
    assert busy[1, 4]["lanes"] == 1
    assert all(row["lanes"] == 1 for row in RESULTS["lanes"]["quiet"])
    assert all(row["round_trips_most"] == 2 for row in RESULTS["lanes"]["reads"])


def test_a_tab_asks_at_most_once_in_two_seconds_and_less_where_nothing_happens() -> None:
    before, now = ([row["requests"] for row in RESULTS["tabs"][when]] for when in ("before", "now"))

    assert all(new <= old for old, new in zip(before, now, strict=True))
    assert max(now) <= 1.2 * tabs.SECONDS / 2
    assert max(now[:2]) <= tabs.SECONDS / 6
    assert now[-1] == 0
    assert not any("rank" in row["kinds"] for row in RESULTS["tabs"]["now"])


OTHERS = COMMITTED.result("compared")
"""Other ways to rank, whose code is gone."""


def test_other_ways_to_rank_name_the_commit_of_their_code_and_ours_is_exact() -> None:
    wrong = {(row["method"], row["shape"]): row["wrong_share"] for row in OTHERS["accuracy"]}
    (window,) = (row["write_units"] for row in OTHERS["days"] if row["method"].startswith("Standings"))
    (sums,) = (row["write_units"] for row in OTHERS["days"] if not row["method"].startswith("Standings"))
    gets = [row["time_per_get"]["a rank"] for row in OTHERS["redis"]]

    for page in ("docs/performance.md", "docs/cost-tables.md"):
        assert f"at commit `{OTHERS['commit']}`, on {OTHERS['measured_on']}" in text_of(page)
    assert [share for (method, _), share in wrong.items() if method == "Standings"] == [0] * 4
    assert wrong["fixed tiers, the rule as published", "uniform"] > 0.9
    assert OTHERS["staleness"]["error_most"]["Standings"] == 0
    page = text_of("docs/performance.md")
    assert f"`last-7-days` adds {window} write units to an event." in page
    assert f"Sums of seven days computed on activity write {sums:g}," in page
    assert f"A rank by Redis takes {min(gets)} to {max(gets)} times as long as its `GET`" in page


def test_the_code_is_small_and_commands_start_soon() -> None:
    """The start and the largest batch together may use half of a function's default memory."""
    of = RESULTS["speed"]
    megabytes = {row["program"]: row["megabytes"] for row in of["starts"]}
    commands = {row["program"]: row for row in of["commands"]}

    assert all(megabytes[row["function"]] + row["peak_megabytes"] <= 512 for row in of["memory"])
    for command, budget in speed.COMMAND_STARTS.items():
        assert commands[command]["times_base"] <= budget
        assert commands[command]["times_base_cpu"] <= budget
    assert (of["members"], of["batch"]) == (200_000, 500)


def test_many_events_take_a_quarter_of_the_time_of_one_request_after_another() -> None:
    """Events of one member alone go one request after another, so that they keep their order."""
    ratios = {(row["way"], row["members"]): row["ratio"] for row in RESULTS["posting"]["ways"]}

    assert {*ratios} == {*posting.WAYS}
    assert max(ratio for (_, members), ratio in ratios.items() if members > 1) <= posting.MOST
    assert (RESULTS["posting"]["events"], RESULTS["posting"]["answer_ms"]) == (5_000, 20)


SHIPPED_BY_RATE = {row["events_per_second"]: row for row in COST["loads"] if row["board"] == "as shipped"}
EVENS = {row["rival"]: row for row in COST["break_even"]}


def test_the_first_paragraph_says_where_others_cost_less() -> None:
    first = " ".join((REPOSITORY / "docs/cost.md").read_text(encoding="utf-8").split("\n\n")[2].split())
    assert first.startswith(
        "**Standings is not the cheapest way to rank.** As shipped and over the API, it costs more "
    )
    assert "more than twice as much as sorted sets in Valkey Serverless, from one event a second on" in first
    assert "At one event in ten seconds it costs less than a cache node with a replica" in first
    assert "on a busy board sorted sets in Valkey cost less than half" in text_of("README.md")

    for rate, row in SHIPPED_BY_RATE.items():
        dollars = row["services"]
        cheaper = {name for name in SERVICES if (dollars[name] or MILLION) < dollars[cost_page.OURS]}
        if rate >= 10:
            assert cheaper | {"Upstash", "Upstash, fixed plan", "a Durable Object"} == set(SERVICES)
        if rate >= 1:
            assert dollars[cost_page.OURS] > 2 * dollars["Valkey Serverless"]
        by_url = row["services_by_url"]
        if rate >= 1:
            assert 4 < by_url[cost_page.OURS] / by_url["Valkey Serverless"] < 7
    said = "With all reads over a function URL, it costs four to seven times as much, from one event a second on."
    assert said in first
    assert "at a function URL less than a quarter" in text_of("README.md")
    quiet = SHIPPED_BY_RATE[0.1]["services"]
    assert quiet["Valkey Serverless"] < quiet[cost_page.OURS] < quiet["a cache node and a replica"]


def test_the_page_of_the_function_url_says_what_it_saves() -> None:
    row, text = SHIPPED_BY_RATE[10], text_of("docs/how-to/without-api-gateway.md")
    (api, url), waved = (row["ways"][way] for way in (spending.API, spending.URL)), f"{cost_page.OURS}, provisioned"
    waves = [row[services][waved] for services in ("services_by_url", "services")]
    prices = read_prices()

    assert url <= 1_110
    assert waves[0] <= 590
    assert row["services_by_url"][cost_page.OURS] == url
    said = (
        f"costs ${url:,.0f} with reads over the function URL, instead of ${api:,.0f} over the API, and ${waves[0]:,.0f}"
    )
    assert f"{said} instead of ${waves[1]:,.0f} with" in text
    plans = [(most, prices.of[f"cdn_plans_of_{most}_million"].dollars) for most in doors.PLANS]
    assert "{} million a month for ${:,}, {} million for ${:,}, {} million for ${:,}".format(*sum(plans, ())) in text
    added = {name for name, _ in expanded(source(), {"FunctionUrl": "iam"}).of("CloudWatch::Alarm")}
    added -= {name for name, _ in expanded(source()).of("CloudWatch::Alarm")}
    assert f"the two alarms that the address adds (${prices.total(Bill(alarms=len(added))):.2f})" in text
    assert len(added) == 2
    # "a tenth more than a read at the function URL costs in all"
    (reads,) = (one for one in COST["doors"] if one["reads_per_second"] == 1)
    of_cdn = prices.total(Bill(cdn_requests=assumed.MONTH))
    assert of_cdn == pytest.approx(1.1 * reads["doors"][spending.URL], rel=0.03)


def test_pages_say_up_to_how_many_events_ours_costs_less() -> None:
    """Over the API and by the client alike: a read of the others passes the same."""
    valkey, durable, computed = (EVENS[name] for name in ("Valkey Serverless", "durable Valkey", cost_page.DSQL))
    for row in (valkey, durable):
        for board in cost_page.SERVED_BOARDS:
            assert row[f"{board}, {spending.API}"] == row[f"{board}, {spending.CLIENT}"]
    most = [f"{durable[f'{board}, over the API']:.1f}" for board in ("as shipped", "`all`")]
    least = [f"{valkey[f'{board}, over the API']:.2f}" for board in ("as shipped", "`all`")]

    assert {rate for name, rate in computed.items() if name != "rival"} == {0.0}
    cheaper = "Below {} events/s ({} with only `all`) Standings is cheaper than durable Valkey".format(*most)
    assert cheaper in text_of("docs/cost.md")
    assert "Below {} events/s ({} with only `all`) it is cheaper".format(*least) in text_of("docs/cost.md")


def test_what_needs_no_count_of_events_is_what_the_model_says_now() -> None:
    """The rest is counted in minutes: `make bench` does."""
    now = cost_page.computed(read_prices(), COMMITTED.result("reads")["reads"])

    assert json.loads(json.dumps(now)) == {name: COST[name] for name in now}
    at_rest = round(read_prices().total(spending.at_rest()), 2)
    assert {row["month"]["at rest"] for row in COST["loads"]} == {at_rest}


def test_a_stack_at_rest_has_the_alarms_of_the_default_parameters() -> None:
    alarms = list(expanded(source()).of("CloudWatch::Alarm"))
    assert len(alarms) == assumed.ALARMS
    assert all("MetricName" in properties for _, properties in alarms)
    *parts, whole = [row["dollars"] for row in COST["idle"]]

    assert f"of which there are {assumed.ALARMS} by default" in text_of("docs/cost.md")
    assert f"an idle stack costs ${whole:.0f} a month" in text_of("README.md")
    assert f"a stack costs [some ${whole:.0f} a month]" in text_of("docs/how-to/deploy.md")
    assert whole == pytest.approx(sum(parts), abs=0.02)


def test_a_club_pays_mostly_for_a_stack_at_rest_and_players_become_events() -> None:
    rate, _, members = cost_page.CLUB
    club, many = (
        row for row in COST["loads"] if row["board"] == "as shipped" and row["events_per_second"] in (rate, 1)
    )
    daily, each = 86_400 * rate / members, 86_400 / many["members"]

    said = f"{many['members']:,} players with some nine each. A club of {members} members with three each has {rate}"
    assert (round(daily), round(each)) == (3, 9)
    assert said in text_of("docs/cost.md")
    assert club["month"]["at rest"] > sum(club["ways"].values()) / len(club["ways"]) / 2
    for services in (club["services"], club["services_by_url"]):
        assert services[cost_page.OURS] < services["Valkey Serverless"]
    assert f"a club of {members} pays less than for Valkey" in text_of("README.md")


def test_the_tutorial_says_what_a_league_costs() -> None:
    cost = {row["part"]: row["dollars"] for row in COST["league"]}
    text = text_of("docs/tutorials/league.md")

    assert cost["in all"] == pytest.approx(sum(dollars for part, dollars in cost.items() if part != "in all"), abs=0.05)
    assert f"That is ${cost['in all'] / league.WEEKS:.2f} a week" in text
    assert f"{league.PLAYERS:,} players in groups of thirty, each with three events a day" in text
    assert (league.GROUP, league.EVENTS, league.LISTS, league.ASKED, league.KEPT) == (30, 3, 6, 1, 4 + 1)
    # The schedule of the tutorial: every quarter of an hour on one day of the week.
    assert 'SettleSchedule="cron(0/15 * ? * MON *)"' in text
    assert league.RUNS == 4 * 24


def test_provisioned_tables_pay_where_the_pages_say_so() -> None:
    found = COST["provisioned"]

    assert found["pays_above"]["write"] == found["pays_above"]["read"]
    for page in ("docs/cost.md", "docs/how-to/provisioned-capacity.md"):
        assert f"{100 * found['pays_above']['write']:.0f} % of the provisioned units" in text_of(page)
        assert f"${found['idle']:.2f} a month" in text_of(page)
    assert f"${100 * COST['keys'][0]['dollars']:.0f} a month" in text_of("docs/cost-tables.md")
    for row in found["months"]:
        assert row["steady"] < row["daily wave"] < row["on demand"] < row["daily rush"]
    # The template's own defaults.
    defaults = {name: one["Default"] for name, one in source()["Parameters"].items()}
    assert (found["target"], found["minimum"]) == (provisioned.TARGET, provisioned.MINIMUM)
    assert defaults["TargetUtilization"] == round(100 * provisioned.TARGET)
    assert defaults["ProvisionedMinimumUnits"] == provisioned.MINIMUM


def test_sentences_have_the_figures_of_the_results() -> None:
    ranks = {board: cost for (board, _, read), cost in READS.items() if read == "rank of a member"}
    rank = max(cost for board, cost in ranks.items() if board != reads.ROLLING)
    rolling_rank = max(cost for (_, _, read), cost in READS.items() if read.startswith("rank of a member, at noon"))
    people = {read: cost for (board, _, read), cost in READS.items() if board == "largest profiles"}
    look, longest = (
        next(row for row in RESULTS["announcements"]["looks"] if row["top"] == top and row["write_units"])
        for top in (3, 100)
    )
    (settled,) = (row["dollars"] for row in COST["settlements"] if row["members"] == MILLION)
    before, now = ({row["situation"]: row["requests"] for row in RESULTS["tabs"][when]} for when in ("before", "now"))
    quiet, busy = (f"{situation}, a member is selected" for situation in ("nothing happens", "each second a score"))
    top, names = "top 100, with profiles", "search on a board, none found among 200"
    of_top = tuple(f"{people[read]:g}" for read in (top, "top 100, without profiles", f"{top}, again within a minute"))
    audited = 365 / 12 * 24 * int(source()["Parameters"]["AuditReadUnits"]["Default"])
    audits = read_prices().total(Bill(read_units=audited))
    serve, sooner = (COMMITTED.result("serve")[name] for name in ("median", "now_to_before"))
    served = round(serve["first_standings_s"])
    times = (serve["rank_by_client_ms"], serve["rank_by_api_ms"])
    units = {name: read_prices().of[name].dollars for name in ("write_units", "read_units", "api_requests")}
    small, *_, wide = (row["batches"] for row in COST["events"] if "as shipped" in row["board"])
    large = max(wide[batch]["dollars"] / small[batch]["dollars"] for batch in small)
    one_board = RESULTS["ceiling"]["limits"]["index"]
    first, *_ = (row["shipped"] for row in RESULTS["ceiling"]["scenes"] if row["shipped"])
    said = (
        ("README.md", f"costs at most {rank:g} read units, {rolling_rank:g} in a rolling window"),
        ("docs/how-to/let-anyone-read.md", f"costs up to [{people[names]:g}]"),
        ("docs/cost.md", "reads {} units instead of {}, and again within a minute only {}:".format(*of_top)),
        ("docs/cost.md", f"reads {look['read_units']:g} units and writes {look['write_units']:g} when it announces"),
        ("docs/cost-tables.md", f"top 3 reads {look['read_units']:g} units, and writes {look['write_units']:g} when"),
        ("docs/cost-tables.md", f"100 reads {longest['read_units']:g} and writes {longest['write_units']:g}"),
        ("docs/cost.md", f"a ranking of a million members, once: ${settled:.2f}:"),
        ("docs/performance.md", "a rank took {:g} ms from the tables by the client, and {:g} ms over".format(*times)),
        ("docs/performance.md", f"was answered after {serve['followed_s']:g} s, the median of 30."),
        ("docs/cost.md", f"costs up to {large:.1f} times as much"),
        ("docs/performance.md", f"after some {first['average']:.1f} s on average and {first['most']:.1f} s at most"),
        ("README.md", f"after some {first['average']:.1f} s on average and {first['most']:.1f} s at most"),
        ("docs/performance.md", f"**One board** takes {one_board} events a second as shipped"),
        ("README.md", f"more events than a board takes, {one_board} a second as shipped"),
        (
            "docs/cost-tables.md",
            "${write_units:g} for a million write units, ${read_units:g} for a million read units, "
            "${api_requests:g} for a million requests".format_map(units),
        ),
        ("CHANGELOG.md", f"{now[busy]} requests a minute on a busy board ({before[busy]} before)"),
        ("CHANGELOG.md", f"shows the first ranks in {sooner['first_standings_s']:g} of the time"),
        ("CHANGELOG.md", f"and {now[quiet]} on a quiet one ({before[quiet]} before)."),
        (
            "docs/how-to/audit-and-rebuild.md",
            f"{audited / MILLION:.1f} million a month, which [cost](../cost-tables.md#prices) ${audits:.2f};",
        ),
        ("docs/tutorials/first-board.md", f"the first standings are on it after {served} s on two cores"),
    )

    assert [words for page, words in said if words not in text_of(page)] == []
    assert COMMITTED.result("serve")["processors"] == 2


FACETS = "docs/how-to/facets-friends-teams.md"
RECEIPT = 2
"""Write units of a receipt: tests/functions/documented/test_countries_teams_friends.py counts them."""


def rows_of(mark: str) -> dict[str, list[str]]:
    """Return the cells of a table's rows by the first cell."""
    text = (REPOSITORY / FACETS).read_text(encoding="utf-8").partition(f"<!-- {mark}: of ")[2]
    lines = [line.strip("| ").split(" | ") for line in text.partition("<!-- /")[0].splitlines()[3:]]
    return {first: cells for first, *cells in lines}


def test_what_friends_cost_is_what_was_measured() -> None:
    def most(board: str, read: str) -> str:
        return f"{max(cost for (of, _, one), cost in READS.items() if of.startswith(board) and one.startswith(read)):g}"

    group = "ranks of a group of 100"
    few, many = (
        max(cost for (of, _, read), cost in READS.items() if (of, read) == (board, group))
        for board in ("few equals", "many equals")
    )
    own = most("few equals", "top 100")
    assert rows_of("friends") == {
        "few equals, `all`": [f"{few:g}"],
        "many equals, `all`": [f"{many:g}"],
        "few equals, with the previous ranks": [most("`all` and `day`", f"{group} with previous ranks")],
        "few equals, a rolling window": [most("`last-", f"{group}, ")],
        "top 100 of a board of their own": [own],
    }
    trips = {row["round_trips_most"] for row in RESULTS["reads"]["reads"] if row["read"].startswith(group)}
    ordinal = {row["round_trips_most"] for row in RESULTS["reads"]["reads"] if row["read"] == f"{group}, ordinal"}
    assert trips - ordinal == {2}
    rolling = float(most("`last-", f"{group}, "))
    said = text_of(FACETS)
    assert f"up to {few / 100:.1f} units for each friend, {rolling / 100:.1f} in a rolling window" in said

    further = several("`all`", "alone", 2) - several("`all`", "alone", 1)
    prices = read_prices()
    reads_saved = prices.total(Bill(read_units=few - float(own)))
    assert f"then costs {own} units instead of {few:g}, and each event {further:.1f} write units more." in said
    assert f"more than {prices.total(Bill(write_units=further)) / reads_saved:.2f} times for each of its events" in said


def several(windows: str, kind: str, boards: int) -> float:
    """Return the write units of an event on several boards."""
    (one,) = (
        row["write_units_per_event"]
        for row in RESULTS["units"]["writes"]
        if (row["windows"], row["kind"], row["life"], row["amounts"]) == (windows, kind, "one day", [1, 100])
    )
    return float(RECEIPT + boards * (one - RECEIPT))


def test_an_event_on_several_boards_costs_what_it_costs_on_each_but_for_the_receipt() -> None:
    columns = [
        (windows, kind) for windows in ("`all`", "`all`, `day` and `last-7-days`") for kind in ("alone", "together")
    ]

    assert rows_of("several") == {
        name: [f"{several(windows, kind, boards):.1f}" for windows, kind in columns]
        for name, boards in (
            ("on 1 board", 1),
            ("on 2 boards, or of a player and a team", 2),
            ("on 3 boards", 3),
            ("on 10 boards", 10),
        )
    }


def test_this_build_keeps_the_bars_beside_the_earlier_one_and_takes_no_more_memory() -> None:
    rows = RESULTS["builds"]["rows"]

    assert [row for row in rows if row["times"] > row["bar"]] == []
    # Runs end at slightly different moments: a page of memory more or less says nothing.
    assert [row for row in rows if row["now_megabytes"] > row["base_megabytes"] + 0.5] == []
    sizes = RESULTS["builds"]["layer_megabytes"]
    assert sizes["now"] <= sizes["base"] + 2


def test_the_models_assume_no_less_processor_than_was_measured() -> None:
    """Lambda gives a whole core at 1,769 MB."""
    share = assumed.MEMORY * 1000 / 1769
    measured = {
        row["function"]: row["now_us"] / 1e6 / share for row in RESULTS["builds"]["rows"] if "loop" in row["what"]
    }

    assert measured["writer"] <= assumed.EVENT
    assert measured["projector"] <= assumed.EVENT + assumed.MOVE
    assert measured["query"] <= assumed.ANSWER - assumed.WAITED
