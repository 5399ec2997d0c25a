"""Where a run in this process writes Dagster's events: Dagster's own storage in SQLite, kept open.

Dagster opens and closes a file several times for every event, and SQLite tidies up and waits for the disk each time; a
refresh writes hundreds of events. Holds how the files are opened. Does not hold what is written, which is Dagster's;
its web server and daemon read it by their own means.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

from dagster._core.storage.event_log import SqliteEventLogStorage
from dagster._core.storage.event_log.sqlite.sqlite_event_log import INDEX_SHARD_NAME
from dagster._core.storage.sqlite import SQLITE_BUSY_TIMEOUT_SECONDS
from dagster._serdes import ConfigurableClassData
from sqlalchemy import Connection, Engine, QueuePool, create_engine, event

OPEN_FILES = 8
"""The index and the runs written or read last; older ones are closed."""


@lru_cache(maxsize=OPEN_FILES)
def _engine(address: str) -> Engine:
    """Return the engine of one file, which keeps its connections and its compiled statements."""
    engine = create_engine(
        address, poolclass=QueuePool, pool_size=2, connect_args={"timeout": SQLITE_BUSY_TIMEOUT_SECONDS}
    )

    @event.listens_for(engine, "connect")
    def relax(connection: Any, _record: object) -> None:
        # with a write-ahead log a killed process loses nothing; a power cut may lose the last events of a run
        connection.execute("pragma journal_mode = wal")
        connection.execute("pragma synchronous = normal")

    return engine


class EventLog(SqliteEventLogStorage):
    """Dagster's event log in SQLite, its files kept open."""

    @classmethod
    def config_type(cls) -> dict[str, Any]:
        """Return what may be said of it in a configuration: nothing."""
        return {}

    @classmethod
    def from_config_value(cls, inst_data: ConfigurableClassData | None, config_value: Mapping[str, Any]) -> Self:
        """Return the storage below Dagster's home, where Dagster's own is."""
        return cls(str(Path(os.environ["DAGSTER_HOME"]) / "history" / "runs"), inst_data, **config_value)

    def has_table(self, table_name: str) -> bool:
        """Tell whether the index has a table; asked while another connection is in use."""
        with _engine(self.conn_string_for_shard(INDEX_SHARD_NAME)).connect() as connection:
            return bool(connection.dialect.has_table(connection, table_name))

    def wipe(self) -> None:
        """Remove every file; what was open is closed first."""
        _engine.cache_clear()
        super().wipe()

    @contextmanager
    def _connect(self, shard: str) -> Iterator[Connection]:
        with self._db_lock:
            engine = _engine(self.conn_string_for_shard(shard))
            if shard not in self._initialized_dbs:
                self._initdb(engine)
                self._initialized_dbs.add(shard)
            with engine.connect() as connection, connection.begin():
                yield connection
            # what is written lies in the log beside the file until it is closed; who watches the file is told here
            os.utime(self.path_for_shard(shard))
