"""What people see: tables, progress, exit statuses."""
