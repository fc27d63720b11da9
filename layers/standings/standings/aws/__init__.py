"""The only package that speaks to AWS."""
