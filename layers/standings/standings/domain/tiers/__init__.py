"""The tier tree: counts of members by range of scores, which give ranks and distributions."""
