"""Other ways to rank members, each written from its published description, over the same engine and meter as ours.

Each gets the best conditions that its method allows: short items, eventually consistent reads, all pages read. `exact`
says whether a method claims exact ranks when nothing has changed since its last `refresh`.
"""
