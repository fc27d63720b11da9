"""What a leaderboard should say, by counting and sorting."""
