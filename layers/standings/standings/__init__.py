"""Standings: exact, live leaderboards on DynamoDB. Its packages are the stages of a pipeline (docs/architecture.md)."""

from standings.runtime.environment import check_built_for

# Before any module imports a compiled package, which fails in a runtime that the layer was not built for.
check_built_for()
