"""The only modules that print. Data goes to stdout, talk to stderr."""
