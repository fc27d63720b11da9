"""Which boards there are, and what is known of each."""
