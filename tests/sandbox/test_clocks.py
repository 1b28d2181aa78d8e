"""Virtual time: it jumps from wait to wait, overlaps what overlaps, and never really sleeps."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentbreeder_sandbox.clocks import START, ScaledClock, VirtualClock

NEVER = threading.Event()


def run(clock: VirtualClock, chains: list[list[float]]) -> float:
    """Each chain waits in a thread of its own, one wait after the other; the virtual seconds that all of it took."""
    threads = [threading.Thread(target=one_after_the_other, args=(clock, chain)) for chain in chains]
    for _ in threads:
        clock.begin_work()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()
    return clock.monotonic()


def one_after_the_other(clock: VirtualClock, chain: list[float]) -> None:
    for seconds in chain:
        clock.wait(NEVER, seconds)
    clock.end_work()


def test_two_waits_at_once_take_as_long_as_the_longer() -> None:
    assert run(VirtualClock(), [[300.0], [420.0]]) == 420


def test_waits_one_after_the_other_add_up() -> None:
    assert run(VirtualClock(), [[5.0, 360.0, 1.0]]) == 366


@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(st.integers(0, 1000).map(float), max_size=5), min_size=1, max_size=6))
def test_the_whole_takes_exactly_as_long_as_the_longest_chain(chains: list[list[float]]) -> None:
    assert run(VirtualClock(), chains) == max(sum(chain) for chain in chains)


def test_it_starts_at_a_fixed_time_and_keeps_both_readings_in_step() -> None:
    clock = VirtualClock()
    assert clock.now() == START
    clock.wait(NEVER, 90)
    assert clock.now() == START + timedelta(seconds=90)
    assert clock.monotonic() == 90
    clock.advance(10)
    assert clock.monotonic() == 100
    with pytest.raises(ValueError, match="backwards"):
        clock.advance(-1)


def test_a_thread_that_never_announced_itself_counts_while_it_waits() -> None:
    clock = VirtualClock()
    assert clock.wait(NEVER, 60) is False
    assert clock.monotonic() == 60


def test_a_wait_that_is_cancelled_already_moves_no_time() -> None:
    clock, cancelled = VirtualClock(), threading.Event()
    cancelled.set()
    assert clock.wait(cancelled, 60) is True
    assert clock.monotonic() == 0


def test_nothing_moves_while_somebody_works_and_the_end_of_the_work_lets_it() -> None:
    clock = VirtualClock()
    clock.begin_work()
    clock.begin_work()
    thread = threading.Thread(target=clock.wait, args=(NEVER, 60))
    thread.start()
    assert clock.monotonic() == 0
    clock.end_work()
    thread.join(30)
    assert not thread.is_alive()
    assert clock.monotonic() == 60


def test_a_cancelled_sleeper_wakes_and_the_others_sleep_on() -> None:
    clock, cancel, answers = VirtualClock(), threading.Event(), []
    for _ in range(3):  # the third keeps time still until the cancelled one has answered
        clock.begin_work()

    def sleeper() -> None:
        answers.append(clock.wait(cancel, 100))
        clock.end_work()

    cancelled = threading.Thread(target=sleeper)
    other = threading.Thread(target=one_after_the_other, args=(clock, [500.0]))
    for thread in (cancelled, other):
        thread.start()
    cancel.set()
    cancelled.join(30)
    assert answers == [True]
    assert clock.monotonic() == 0
    clock.end_work()
    other.join(30)
    assert clock.monotonic() == 500


def test_a_scaled_clock_waits_a_fraction_and_tells_the_whole() -> None:
    clock = ScaledClock(speed=1e6)
    before, started = clock.now(), clock.monotonic()
    assert clock.wait(NEVER, 1000) is False
    assert clock.monotonic() - started >= 1000
    assert clock.now() - before >= timedelta(seconds=1000)
    cancelled = threading.Event()
    cancelled.set()
    assert clock.wait(cancelled, 1e12) is True
