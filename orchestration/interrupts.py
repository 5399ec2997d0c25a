"""Whether this process was told to stop (Ctrl-C, SIGTERM), also where a library has swallowed the signal.

Dagster takes a signal that reaches it inside a step for one more failed step, and forgets one that reaches it between
steps. Holds the noticing only; what follows from it is the caller's.
"""

import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

STOPS = frozenset({signal.SIGINT, signal.SIGTERM})


@contextmanager
def noticed_stops() -> Iterator[Callable[[], bool]]:
    """Yield a function that tells whether the process has been told to stop since the block began.

    Python writes the number of every signal that it handles into a socket, whoever the handler is. Outside the main
    thread, which alone gets signals, nothing is ever noticed.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    told = False

    def is_told() -> bool:
        nonlocal told
        with suppress(BlockingIOError):
            told |= any(number in STOPS for number in reader.recv(4096))
        return told

    reader, writer = socket.socketpair()
    with reader, writer:
        reader.setblocking(False)
        writer.setblocking(False)
        before = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
        try:
            yield is_told
        finally:
            signal.set_wakeup_fd(before)
