"""Real PostgreSQL and Redis servers on 127.0.0.1, from packages that pip installs: no root, no Docker."""
