"""Where is kept whole what cannot be applied: nothing is lost, and nothing holds up its neighbours."""
