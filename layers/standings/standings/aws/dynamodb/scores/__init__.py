"""The tables Scores and Receipts."""
