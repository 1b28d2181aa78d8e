"""Errors, events, secrets that never print, and the clock. Imports nobody; everybody may import it."""
