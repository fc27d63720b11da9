"""Boards, traffic and damage for tests."""
