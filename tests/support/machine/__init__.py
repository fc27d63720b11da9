"""A state machine of Hypothesis that runs the stack and the model side by side."""
