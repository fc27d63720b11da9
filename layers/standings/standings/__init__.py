"""Standings: exact, live leaderboards on DynamoDB.

The pipeline, from the inside out: `domain` (events, boards, windows, tiers, moves: plain Python), `services` (what a
writer, a projector and a query do, given a store), `dynamodb` (the only package that speaks to DynamoDB) and
`runtime` (configuration, observability, and the wiring of all of it for the functions).
"""
