"""Standings: exact, live leaderboards on DynamoDB. Its packages are the stages of a pipeline (docs/architecture.md)."""
