"""The description of the API for clients: `http.CALLS` with words, and the schemas of bodies and answers.

No function loads it: `make openapi` writes it to `functions/query/openapi.json`, which is served as it is.
"""
