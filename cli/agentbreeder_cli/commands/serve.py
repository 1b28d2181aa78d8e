"""`agentbreeder serve`."""

from __future__ import annotations

from pathlib import Path

import click

from ..mode import Mode
from ..options import debug_option, state_here_option


@click.command("serve")
@click.option("--dev", is_flag=True, help="Try it out: 127.0.0.1 only, a file instead of PostgreSQL, and one token.")
@click.option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="Where to listen.")
@click.option("--port", default=8080, show_default=True, type=click.IntRange(1, 65535), help="On which port.")
@click.option("--workers", default=1, show_default=True, type=click.IntRange(1, 64), help="How many processes.")
@state_here_option
@debug_option
@click.pass_obj
def command(mode: Mode, dev: bool, host: str, port: int, workers: int, project_dir: Path | None) -> None:
    """Serve memory configs, messages, search and stats over HTTP.

    Needs DATABASE_URL (PostgreSQL, brought up to date with `agentbreeder db upgrade`) and one of AGENTBREEDER_JWT_SECRET,
    AGENTBREEDER_JWT_PUBLIC_KEY and AGENTBREEDER_JWKS_URL. On SIGTERM it answers what came in and ends.

    \b
    Example:
      agentbreeder serve --dev
    """
    import os

    from agentbreeder_core.errors import MissingExtra

    from ..memory_configs import FILE
    from ..views import out

    try:
        from agentbreeder_service.server import check_before, check_port, prepare_dev, serve
    except ImportError as e:
        raise MissingExtra(
            f"the service needs {e.name}, which is not installed", hint="pip install 'agentbreeder-memory[service]'"
        ) from e
    check_port(host, port)
    if dev:
        if host not in ("127.0.0.1", "localhost", "::1"):
            raise click.UsageError("--dev listens on this machine only; without it, set DATABASE_URL and a key")
        made, token = prepare_dev((project_dir or Path()).absolute() / FILE, os.environ)
        os.environ.update(made)
        out.talk("A token for one day, of an admin of the team default:\n")
        address = f"[{host}]" if ":" in host else host
        out.data(f"export AGENTBREEDER_API_URL=http://{address}:{port}")
        out.data(f"export AGENTBREEDER_API_TOKEN={token}")
        out.talk()
        out.flush()
    check_before(os.environ)
    out.talk(f"Serving on http://{host}:{port} (Ctrl-C ends it)")
    serve(host, port, workers)
