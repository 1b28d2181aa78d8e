"""Stand-ins for the clouds that speak the real wire protocols."""
