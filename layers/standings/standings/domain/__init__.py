"""What a leaderboard is: plain Python that knows no AWS, no clock and no environment."""
