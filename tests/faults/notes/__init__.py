"""Notes in schedules: which scores keep them, what events say, and whether the tables keep what they should.

Only schedules with `Options(notes=True)` have them. All else of notes is drawn from random numbers of its own, so the
schedules without notes are what they were.
"""
