"""Checks of the tables: expiry, backups, protection, the index, and the throughput that is warm."""

from collections.abc import Iterator
from typing import Final

from standings_cli.doctor.deployed import TABLES, Deployed
from standings_cli.doctor.finding import Finding, failed, failed_on_aws, note, ok

_EXPIRY: Final = "e"
_BACKED_UP: Final = ("ScoresTable", "ReceiptsTable", "ProfilesTable")
_RANKED: Final = tuple(name for name in TABLES if name != "ProfilesTable")  # Profiles neither expire nor are warm
_INDEX: Final = "places"
_WARM: Final = {"WarmWriteUnits": "WriteUnitsPerSecond", "WarmReadUnits": "ReadUnitsPerSecond"}


def expiry(deployed: Deployed) -> Iterator[Finding]:
    """What has ended expires in every table but that of profiles."""
    client = deployed.client("dynamodb")
    for name in _RANKED:
        about = f"expiry of {name}"
        found = client.describe_time_to_live(TableName=deployed.resources[name])["TimeToLiveDescription"]
        state, attribute = found.get("TimeToLiveStatus", "DISABLED"), found.get("AttributeName")
        if state not in {"ENABLED", "ENABLING"} or attribute != _EXPIRY:
            detail = f"expected {_EXPIRY} to be enabled, got {attribute} {state}: the table grows for ever"
            yield failed_on_aws(deployed, about, detail)
        else:
            yield ok(about, state.lower())


def backups(deployed: Deployed) -> Iterator[Finding]:
    """Scores, receipts and profiles can be restored to any second."""
    client = deployed.client("dynamodb")
    for name in _BACKED_UP:
        about = f"point-in-time recovery of {name}"
        found = client.describe_continuous_backups(TableName=deployed.resources[name])["ContinuousBackupsDescription"]
        state = found.get("PointInTimeRecoveryDescription", {}).get("PointInTimeRecoveryStatus", "DISABLED")
        if state != "ENABLED":
            detail = f"expected ENABLED, got {state}: deploy again, or what is lost stays lost"
            yield failed_on_aws(deployed, about, detail)
        else:
            yield ok(about, "enabled")


def protection(deployed: Deployed) -> Iterator[Finding]:
    """DynamoDB refuses to delete the tables."""
    about = "protection of the tables against deletion"
    wanted = deployed.parameter("DeletionProtection") == "true"
    without = [name for name in TABLES if not deployed.tables[name].get("DeletionProtectionEnabled")]
    if not without:
        yield ok(about, "all are protected")
    elif wanted:
        yield failed(about, f"DeletionProtection is true, but {', '.join(without)} can be deleted: deploy again")
    else:
        yield note(about, "anyone with the permission can delete them: deploy with DeletionProtection=true")


def index(deployed: Deployed) -> Iterator[Finding]:
    """The sorted index of Rankings is there and in use."""
    about = "the sorted index of Rankings"
    indexes = {one["IndexName"]: one for one in deployed.tables["RankingsTable"].get("GlobalSecondaryIndexes", [])}
    if _INDEX not in indexes:
        yield failed(about, f"expected an index {_INDEX}, got {', '.join(indexes) or 'none'}: deploy again")
    elif (state := indexes[_INDEX].get("IndexStatus", "ACTIVE")) != "ACTIVE":
        yield failed(about, f"expected ACTIVE, got {state}: lists are not whole until it is")
    else:
        yield ok(about, "active")


def warmth(deployed: Deployed) -> Iterator[Finding]:
    """The tables and the index take at once what the parameters ask for."""
    about = "warm throughput"
    wanted = {unit: int(deployed.parameter(name) or 0) for name, unit in _WARM.items()}
    if not any(wanted.values()):
        yield note(about, "left to DynamoDB; before a known rush, set WarmWriteUnits and WarmReadUnits")
        return
    for name in _RANKED:
        table = deployed.tables[name]
        for part in (table, *table.get("GlobalSecondaryIndexes", [])):
            found = part.get("WarmThroughput", {})
            less = {unit: units for unit, units in wanted.items() if units and found.get(unit, 0) < units}
            where = part.get("IndexName", name)
            for unit, units in less.items():
                got = f"{found.get(unit, 0):,} {unit} of {where}, expected {units:,}"
                yield failed_on_aws(deployed, about, f"{got}: it may still be warming up, look again in an hour")
            if not less:
                yield ok(
                    f"{about} of {where}", ", ".join(f"{units:,} {unit}" for unit, units in wanted.items() if units)
                )
