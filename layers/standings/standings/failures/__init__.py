"""Where goes what cannot be applied: nothing is lost, and nothing holds up its neighbours."""
