"""The description of the API for clients: texts for `standings.calls.CALLS`, and the schemas of bodies and answers.

No function loads it: `make openapi` writes `functions/query/openapi.json`, which the query function serves.
"""
