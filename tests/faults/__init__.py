"""Thousands of schedules in which everything goes wrong that can, each told by one number: `run(seed)`.

    make faults SEED=7

runs one alone and prints what happened in it.
"""
