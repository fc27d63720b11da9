"""Works out what a leaderboard should answer by counting and sorting, and compares the product's answers with it."""
