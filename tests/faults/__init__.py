"""Random schedules of events, crashes, lost answers, throttling and redeliveries. One seed makes one schedule.

    make faults SEED=7

runs one schedule and prints each of its steps.
"""
