"""How other tools answer the questions that people check Standings with."""
