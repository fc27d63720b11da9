"""Packaging for those who deploy without SAM."""
