"""A signal is noticed whoever handles it."""

import os
import signal

import pytest

from orchestration.interrupts import noticed_stops


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_is_noticed_where_somebody_else_swallows_it(stop: signal.Signals) -> None:
    before = signal.signal(stop, lambda *_: None)
    try:
        with noticed_stops() as is_told_to_stop:
            assert not is_told_to_stop()
            os.kill(os.getpid(), stop)
            assert is_told_to_stop()
            assert is_told_to_stop(), "and is not forgotten"
    finally:
        signal.signal(stop, before)


def test_another_signal_is_no_stop() -> None:
    before = signal.signal(signal.SIGUSR1, lambda *_: None)
    try:
        with noticed_stops() as is_told_to_stop:
            os.kill(os.getpid(), signal.SIGUSR1)
            assert not is_told_to_stop()
    finally:
        signal.signal(signal.SIGUSR1, before)
