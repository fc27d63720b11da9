"""Windows such as `day` and `last-7-days`, their periods, late events, and how long a period can be read."""
