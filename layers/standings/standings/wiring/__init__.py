"""Assembles the services of each function, in a module of its own: so a function imports only what it uses."""
