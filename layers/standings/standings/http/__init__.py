"""HTTP: routes, arguments, answers and problems."""
