"""The `agentbreeder` command: parses, calls one use-case, shows the result.

One command, one file under `commands/`. Only `views/` print; only `main` turns an error into an exit code. Everything
heavy is imported inside the function that needs it, so that `agentbreeder --help` starts at once.
"""
