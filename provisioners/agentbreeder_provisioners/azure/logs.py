"""Keeps the signed parameters of poll URLs out of every log, also the debug log of the library that sends requests."""

from __future__ import annotations

import logging

_SENDER = "urllib3.connectionpool"  # at debug level it writes each request's path and query


class _WithoutQueries(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        """Let the record pass, with the query cut off every path in it."""
        if isinstance(record.args, tuple):
            record.args = tuple(_cut(arg) for arg in record.args)
        return True


def _cut(arg: object) -> object:
    return arg.partition("?")[0] if isinstance(arg, str) and arg.startswith(("/", "http")) else arg


_FILTER = _WithoutQueries()


def keep_queries_out() -> None:
    """From now on. Once is enough; more does no harm."""
    logging.getLogger(_SENDER).addFilter(_FILTER)
