"""Ctrl-C and SIGTERM: the first stops in good order, the second leaves at once."""

from __future__ import annotations

import os
import signal
import sys
import threading
from types import FrameType, TracebackType
from typing import Any, NoReturn

EXIT_INTERRUPTED, EXIT_TERMINATED = 130, 143
_SHOW_CURSOR = b"\x1b[?25h"


class Terminated(KeyboardInterrupt):
    """SIGTERM. A subclass, so that whoever stops in good order on Ctrl-C does so for SIGTERM too."""


class Signals:
    """Context manager; does nothing outside the main thread, where Python allows no handlers."""

    def __init__(self) -> None:
        self._received: signal.Signals | None = None
        self._before: dict[signal.Signals, Any] = {}

    @property
    def exit_code(self) -> int:
        """143 when SIGTERM came first, else 130."""
        return EXIT_TERMINATED if self._received == signal.SIGTERM else EXIT_INTERRUPTED

    def __enter__(self) -> Signals:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._received is not None:
            self._leave()
        self._received = signal.Signals(number)
        raise Terminated if number == signal.SIGTERM else KeyboardInterrupt

    def _leave(self) -> NoReturn:
        # No clean-up at all, on purpose: every intent is on disk, and the user asked twice. Only the cursor, which a
        # live view hides, is given back; `os.write` because the stream's own lock may be held by what we interrupt.
        if sys.stderr is not None and sys.stderr.isatty():
            os.write(sys.stderr.fileno(), _SHOW_CURSOR)
        os._exit(self.exit_code)
