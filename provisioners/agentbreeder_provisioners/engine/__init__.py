"""Runs steps: intent before call, resume, teardown in reverse. Knows no cloud by name."""
