"""Settles final periods: audits a ranking, writes its files, and puts the events of its prizes."""
