"""Which boards there are, and which of their rankings are complete."""
