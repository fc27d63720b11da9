"""Shared by the tests: fake AWS services, an oracle that is independent of the design, faults and builders."""
