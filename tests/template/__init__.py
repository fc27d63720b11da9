"""Rules for template.yaml. `make check` applies them; `make test` shows that each of them can fail."""
