"""Audits, rebuilds, deletes and replays."""
