"""Standings: exact, live leaderboards on DynamoDB. The packages are the stages of the pipeline: docs/architecture.md."""
