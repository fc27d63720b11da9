"""Other ways to rank members, each written from its published description, on the engine and the meter of our own.

They are kept as kind to each method as it allows: short items, eventually consistent reads, all pages read. `exact`
says what a method claims when nothing has changed since its last `refresh`.
"""
