"""Six set encoders of the ball history, their symmetry groups and equal parameter budgets."""
