"""What reads about people cost is within the budgets."""

from benchmarks.harness.results_file import Output
from benchmarks.measure import member_reads, profiles

MEMBER_READS = Output().result("member_reads")
PROFILES = Output().result("profiles")


def test_a_history_and_a_rank_beside_a_page_are_within_their_budgets() -> None:
    cost = {(row["board"], row["members"], row["read"]): row["read_units_most"] for row in MEMBER_READS["reads"]}

    for row in MEMBER_READS["reads"]:
        board, members, periods = row["board"], row["members"], member_reads.periods_of(row)
        most = {member_reads.CALENDAR: 3.0, member_reads.ROLLING: 6.0}.get(board, 0.0)
        if periods > 1 or (periods and board == member_reads.CALENDAR):
            assert row["read_units_most"] <= most * periods
        elif periods:
            assert row["read_units_most"] <= cost[board, members, "rank of a member"]
        elif row["read"].endswith("`me`"):
            entry = 0.5 * (4 if board.endswith("4 shards") else 1)
            beside = cost[board, members, "top 100"] + cost[board, members, "rank of a member"]
            assert row["read_units_most"] <= beside + entry
    assert {row["members"] for row in MEMBER_READS["reads"]} == {*member_reads.SIZES}


def test_a_hundred_profiles_cost_fifty_units() -> None:
    cost = {(row["profiles"], row["read"]): row["read_units_most"] for row in PROFILES["rows"] if "read" in row}

    for kind in profiles.KINDS:
        for limit in (100, 1_000):
            without = cost[kind, f"top {limit:,}, without profiles"]
            assert cost[kind, f"top {limit:,}, with profiles"] - without == limit / 2
            assert cost[kind, f"top {limit:,}, with profiles, again within a minute"] == without
        assert cost[kind, "rank of a member, with its profile"] <= 3.5
    assert PROFILES["answers_wrong"] == 0
