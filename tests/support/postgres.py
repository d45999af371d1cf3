"""A PostgreSQL server for tests: the system's binaries, a free port, a throw-away folder, never as root."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PASSWORD = "zebra-crossing-41"
"""Appears in URLs only: tests look for it in everything that is shown or recorded."""
_USERS = ("postgres", "nobody")
_INIT = ("-U", "tester", "-A", "scram-sha-256", "--no-sync", "-E", "UTF8", "--locale=C")
_SERVE = ("-c", "listen_addresses=127.0.0.1", "-c", "max_connections=60", "-c", "fsync=off")
_START_SECONDS = 60.0


class NoServerError(Exception):
    """No server can be had here; the message says why."""


@dataclass(frozen=True)
class Server:
    """A running server."""

    port: int
    admin: str
    """URL of its maintenance database."""

    def url(self, database: str) -> str:
        """URL of a database, password included."""
        return self.admin.rsplit("/", 1)[0] + f"/{database}"


def find_binaries() -> Path:
    """The folder of initdb and postgres; raises NoServerError."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    found = shutil.which("postgres")
    if found:
        folders.insert(0, Path(found).resolve().parent)
    for folder in folders:
        if (folder / "initdb").exists() and (folder / "postgres").exists():
            return folder
    raise NoServerError("no PostgreSQL server is installed (Debian package postgresql)")


def as_other_user() -> tuple[list[str], int | None]:
    """A command prefix and user id to run the server with: it refuses to run as root."""
    if os.geteuid() != 0:
        return [], None
    setpriv = shutil.which("setpriv")
    for name in _USERS:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        if setpriv:
            return [setpriv, f"--reuid={entry.pw_uid}", f"--regid={entry.pw_gid}", "--clear-groups"], entry.pw_uid
    raise NoServerError("PostgreSQL refuses to run as root, and there is no other user or no setpriv")


@contextmanager
def postgres_server() -> Iterator[Server]:
    """Start a server and stop it at the end; raises NoServerError."""
    binaries = find_binaries()
    prefix, uid = as_other_user()
    folder = Path(tempfile.mkdtemp(prefix="kernelwright-postgres-"))
    try:
        secret = folder / "password"
        secret.write_text(PASSWORD)
        if uid is not None:
            os.chown(folder, uid, -1)
            os.chown(secret, uid, -1)
        data = folder / "data"
        made = subprocess.run(
            [*prefix, str(binaries / "initdb"), *_INIT, "-D", str(data), f"--pwfile={secret}"],
            capture_output=True,
            text=True,
            cwd=folder,
            check=False,
        )
        if made.returncode:
            raise NoServerError(f"initdb failed: {made.stderr.strip()[-300:]}")
        port = _free_port()
        log = (folder / "log").open("w")
        server = subprocess.Popen(
            [*prefix, str(binaries / "postgres"), *_SERVE, "-D", str(data), "-p", str(port), "-k", str(folder)],
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=folder,
        )
        try:
            _wait(server, port, folder / "log")
            yield Server(port, f"postgresql://tester:{PASSWORD}@127.0.0.1:{port}/postgres")
        finally:
            server.send_signal(signal.SIGINT)  # fast shutdown
            server.wait(30)
            log.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait(server: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        if server.poll() is not None:
            raise NoServerError(f"the server ended at once: {log.read_text()[-300:]}")
        if "ready to accept connections" in log.read_text():
            return
        time.sleep(0.05)
    raise NoServerError(f"the server did not start within {_START_SECONDS:g} s on port {port}")
