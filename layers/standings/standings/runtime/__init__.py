"""Configuration, observability and wiring: the only place that knows the environment, the clock and chance."""
