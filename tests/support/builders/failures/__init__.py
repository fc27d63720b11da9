"""Refused messages and parked records."""
