"""What every `StateStore` must do. A new one, such as a bucket, is one more line in `STORES`."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from agentbreeder_core.clock import SystemClock
from agentbreeder_core.errors import Interrupted, LockHeld, StateConflict
from agentbreeder_sandbox.clocks import VirtualClock
from agentbreeder_state import AgentRecord, FileStateStore, InfraState, StateStore

MakeRecord = Callable[..., AgentRecord]

STORES: dict[str, Callable[[Path], StateStore]] = {"file": FileStateStore}
"""Each makes a store on one place: called twice, two stores that share what is saved."""


@pytest.fixture(params=STORES)
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], StateStore]:
    return lambda: STORES[request.param](tmp_path)


@pytest.fixture
def store(stores: Callable[[], StateStore]) -> StateStore:
    return stores()


def test_an_empty_place_has_no_state_and_the_first_update_starts_a_history(store: StateStore) -> None:
    assert store.read() is None
    first = store.update(lambda s: s)
    assert first.lineage
    assert first.serial == 1
    assert store.read() == first


def test_what_was_saved_is_what_is_read_by_any_store_on_the_place(
    stores: Callable[[], StateStore], record: MakeRecord
) -> None:
    saved = stores().update(lambda s: s.with_agent(record("a", 3)))
    assert stores().read() == saved
    assert saved.agents == {"a": record("a", 3)}


def test_an_update_changes_what_is_there_now_and_counts_one(
    stores: Callable[[], StateStore], record: MakeRecord
) -> None:
    one, other = stores(), stores()
    one.update(lambda s: s.with_agent(record("a")))
    saved = other.update(lambda s: s.with_agent(record("b")))
    assert set(saved.agents) == {"a", "b"}
    assert saved.serial == 2


def test_an_update_that_fails_changes_nothing_and_holds_nothing(store: StateStore) -> None:
    before = store.update(lambda s: s)

    def fail(state: InfraState) -> InfraState:
        raise StateConflict("no")

    with pytest.raises(StateConflict):
        store.update(fail)
    assert store.read() == before
    assert store.update(lambda s: s).serial == 2


def test_a_conditional_write_lands_on_the_serial_it_names_and_on_no_other(store: StateStore) -> None:
    fresh = InfraState(lineage="l", serial=0, tool_version="")
    with pytest.raises(StateConflict):
        store.write_if(fresh, serial=3)
    assert store.read() is None
    one = store.write_if(fresh, serial=0)
    assert one.serial == 1
    with pytest.raises(StateConflict):
        store.write_if(fresh, serial=0)
    with pytest.raises(StateConflict, match="lineage"):
        store.write_if(replace(one, lineage="other"), serial=1)
    assert store.read() == one


def test_threads_that_update_at_once_all_land(stores: Callable[[], StateStore], record: MakeRecord) -> None:
    def add(name: str) -> None:
        stores().update(lambda s: s.with_agent(record(name)))

    threads = [threading.Thread(target=add, args=(f"agent-{n}",)) for n in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    state = stores().read()
    assert state is not None
    assert (len(state.agents), state.serial) == (8, 8)


def test_checking_does_not_make_a_state(store: StateStore) -> None:
    store.check_writable()
    assert store.read() is None


def test_a_held_lock_is_refused_to_others_and_free_for_other_agents_and_afterwards(
    stores: Callable[[], StateStore],
) -> None:
    clock = SystemClock()
    with stores().lock("a", what="deploy", clock=clock):
        with pytest.raises(LockHeld) as caught, stores().lock("a", what="teardown", clock=clock):
            pass
        assert "deploy" in caught.value.detail
        assert caught.value.hint
        with stores().lock("b", what="deploy", clock=clock):
            pass
    with stores().lock("a", what="teardown", clock=clock):
        pass


def test_a_lock_goes_with_a_run_that_fails(store: StateStore) -> None:
    with pytest.raises(ZeroDivisionError), store.lock("a", what="deploy", clock=SystemClock()):
        raise ZeroDivisionError
    with store.lock("a", what="deploy", clock=SystemClock()):
        pass


def test_waiting_for_a_lock_is_bounded_by_the_injected_clock(stores: Callable[[], StateStore]) -> None:
    clock = VirtualClock()
    with stores().lock("a", what="deploy", clock=clock):
        before = clock.monotonic()
        with pytest.raises(LockHeld), stores().lock("a", what="deploy", clock=clock, wait_s=90):
            pass
        assert clock.monotonic() - before == pytest.approx(90)


def test_waiting_for_a_lock_ends_when_it_is_free(stores: Callable[[], StateStore]) -> None:
    class Waiter(VirtualClock):
        """Lets go of the lock while the other one waits."""

        def wait(self, cancel: threading.Event, seconds: float) -> bool:
            holder.__exit__(None, None, None)
            return super().wait(cancel, seconds)

    holder = stores().lock("a", what="deploy", clock=SystemClock())
    holder.__enter__()
    with stores().lock("a", what="teardown", clock=Waiter(), wait_s=90):
        pass


def test_waiting_for_a_lock_ends_when_the_run_is_cancelled(stores: Callable[[], StateStore]) -> None:
    cancel = threading.Event()
    cancel.set()
    with (
        stores().lock("a", what="deploy", clock=SystemClock()),
        pytest.raises(Interrupted),
        stores().lock("a", what="deploy", clock=SystemClock(), wait_s=90, cancel=cancel),
    ):
        pass


@pytest.mark.parametrize("force", [False, True])
def test_unlock_never_takes_a_live_lock_and_says_so_when_there_is_none(
    stores: Callable[[], StateStore], force: bool
) -> None:
    assert "no lock" in stores().unlock("a", force=force)
    with stores().lock("a", what="deploy", clock=SystemClock()):
        with pytest.raises(LockHeld):
            stores().unlock("a", force=force)
        with pytest.raises(LockHeld), stores().lock("a", what="deploy", clock=SystemClock()):
            pass
    assert "no lock" in stores().unlock("a", force=force)
