"""What announcements cost."""
