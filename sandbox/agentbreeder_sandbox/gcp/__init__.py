"""The Google Cloud stand-in."""
