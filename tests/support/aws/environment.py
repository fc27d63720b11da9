"""The environment of the functions in tests."""

ENVIRONMENT = {
    "SCORES_TABLE": "Scores",
    "RECEIPTS_TABLE": "Receipts",
    "RANKINGS_TABLE": "Rankings",
    "PROFILES_TABLE": "Profiles",
    "ACTIVITY_QUEUE_URL": "https://queue.invalid/activity",
    "DEAD_LETTER_QUEUE_URL": "https://queue.invalid/dead",
    "FAILURE_BUCKET": "failures",
    "RESULTS_BUCKET": "results",
    "LOOKS_QUEUE_URL": "https://queue.invalid/looks",
    "STACK_NAME": "standings",
    "MAINTENANCE_FUNCTION": "maintenance",
    "AWS_LAMBDA_FUNCTION_NAME": "maintenance",  # of the one function that calls itself
}
