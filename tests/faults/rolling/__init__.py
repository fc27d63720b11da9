"""A model of the protocol for rolling windows that count by logs, under random faults. It knows nothing of the product.

    python -m tests.faults.rolling 500

prints how many of 500 schedules come out wrong with all rules, and without each.
"""
