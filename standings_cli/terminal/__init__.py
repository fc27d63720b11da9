"""Output for people: tables, progress, text, exit statuses."""
