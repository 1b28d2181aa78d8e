"""Memory configs, messages, search and stats over REST. Not built yet."""
