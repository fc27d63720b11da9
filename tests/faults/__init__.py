"""Thousands of schedules in which everything goes wrong that can, each told by one number: `run(seed)`.

    PYTHONPATH=layers/standings python -m tests.faults SEED

runs one alone and prints what happened in it.
"""
