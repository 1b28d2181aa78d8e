"""The agentbreeder command: parses, calls one use-case, shows the result."""
