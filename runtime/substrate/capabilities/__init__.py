"""Stores and providers, one module per driver. A driver is imported when its store connects."""
