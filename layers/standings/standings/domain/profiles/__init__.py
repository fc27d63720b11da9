"""Profiles: what people see of a member."""
