"""Runs work over a graph: independent nodes at once, in threads, because the SDKs block."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from graphlib import TopologicalSorter

from agentbreeder_core.clock import Clock

MAX_WORKERS = 16


@dataclass(slots=True)
class Outcome:
    """How it ended. `skipped` nodes never started; `interrupted` is set when the user stopped the run."""

    done: list[str] = field(default_factory=list)
    failed: dict[str, Exception] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)
    interrupted: BaseException | None = None


class _Graph:
    """One execution. Finished workers launch what they freed themselves, so no instant passes with nobody busy."""

    def __init__(
        self, needs: Mapping[str, Iterable[str]], work: Callable[[str], None], clock: Clock, stop_on_failure: bool
    ) -> None:
        self._nodes = list(needs)
        self._sorter = TopologicalSorter({n: [m for m in ms if m in needs] for n, ms in needs.items()})
        self._sorter.prepare()
        self._work, self._clock, self._stop_on_failure = work, clock, stop_on_failure
        self._lock = threading.Lock()
        self._running = 0
        self._stopped = False
        self._started: set[str] = set()
        self._fatal: BaseException | None = None
        self.finished = threading.Event()
        self.outcome = Outcome()
        self._pool = ThreadPoolExecutor(MAX_WORKERS, thread_name_prefix="agentbreeder-step")

    def start(self) -> None:
        with self._lock:
            self._launch()

    def stop(self) -> None:
        """Start nothing new; what runs goes on to its end."""
        with self._lock:
            self._stopped = True
            self._launch()

    def close(self, *, wait: bool) -> None:
        self._pool.shutdown(wait=wait, cancel_futures=True)

    def result(self) -> Outcome:
        if self._fatal is not None:
            raise self._fatal
        self.outcome.skipped = [n for n in self._nodes if n not in self._started]
        return self.outcome

    def _launch(self) -> None:
        ready = () if self._stopped else self._sorter.get_ready()
        for node in ready:
            self._running += 1
            self._started.add(node)
            self._clock.begin_work()
            self._pool.submit(self._one, node)
        if self._running == 0:
            self.finished.set()

    def _one(self, node: str) -> None:
        failure: BaseException | None = None
        try:
            self._work(node)
        except BaseException as e:  # noqa: BLE001  (handed to the caller in `result`, never swallowed)
            failure = e
        with self._lock:
            self._running -= 1
            self._settle(node, failure)
            self._launch()
        self._clock.end_work()

    def _settle(self, node: str, failure: BaseException | None) -> None:
        if failure is None:
            self.outcome.done.append(node)
            self._sorter.done(node)
        elif isinstance(failure, Exception):
            self.outcome.failed[node] = failure
            self._stopped = self._stopped or self._stop_on_failure
        else:
            self._fatal, self._stopped = failure, True


def run_graph(
    needs: Mapping[str, Iterable[str]],
    work: Callable[[str], None],
    *,
    clock: Clock,
    cancel: threading.Event,
    stop_on_failure: bool,
) -> Outcome:
    """Run `work(node)` for each node once all it needs are done. Blocks until everything that started has ended.

    With `stop_on_failure` a failure starts nothing new; without, only what needs the failed node is skipped. Setting
    `cancel`, or one KeyboardInterrupt in the calling thread, stops launching and lets workers end at their next wait;
    a second KeyboardInterrupt leaves at once. An exception that is not an `Exception` in a worker is raised here.
    """
    graph = _Graph(needs, work, clock, stop_on_failure)
    graph.start()
    interrupted: BaseException | None = None
    leave_at_once = False
    try:
        while not graph.finished.is_set():
            try:
                graph.finished.wait(0.2)
            except KeyboardInterrupt as e:
                if interrupted is not None:
                    leave_at_once = True
                    raise
                interrupted = e
                cancel.set()
            if cancel.is_set():
                graph.stop()
    finally:
        graph.close(wait=not leave_at_once)
    outcome = graph.result()
    outcome.interrupted = interrupted
    return outcome
