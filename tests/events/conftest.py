"""A finished run to read, and stores of both kinds to write to."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from kernelwright.events.log import EventLog
from support.loops import whole_run
from support.postgres import NoServerError, Server, postgres_server


@pytest.fixture(scope="session")
def finished_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with the finished run ``r``; made once, never written to again."""
    path = tmp_path_factory.mktemp("finished") / "log.sqlite"
    log = EventLog.open(str(path), create=True)
    whole_run(log)
    log.close()
    return path


@pytest.fixture
def finished(finished_store: Path, tmp_path: Path) -> Path:
    """A copy of that store, to do with as one likes."""
    return Path(shutil.copy(finished_store, tmp_path / "finished.sqlite"))


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """A PostgreSQL server, or the reason why there is none."""
    pytest.importorskip("psycopg", reason="the PostgreSQL driver is not installed (extra postgres)")
    with ExitStack() as stack:
        try:
            found = stack.enter_context(postgres_server())
        except NoServerError as error:
            pytest.skip(str(error))
        yield found


@pytest.fixture(params=["sqlite", "postgres"])
def new_store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a store of each kind, not made yet."""
    if request.param == "sqlite":
        return str(tmp_path / "log.sqlite")
    found: Server = request.getfixturevalue("server")
    import psycopg

    name = f"t{uuid.uuid4().hex}"
    with psycopg.connect(found.admin, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    return found.url(name)


@pytest.fixture
def open_store(new_store: str) -> Iterator[Callable[..., EventLog]]:
    """Opens the store, as often as wanted; all are closed at the end."""
    opened: list[EventLog] = []

    def again(**options: bool) -> EventLog:
        opened.append(EventLog.open(new_store, **{"create": True, **options}))
        return opened[-1]

    yield again
    for log in opened:
        log.close()
