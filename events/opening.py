"""From the name of a store to the opened store, and the name that may be shown: credentials stay out of it."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit

from .failures import LogError, explained
from .sqlite import SQLiteStore
from .store import Store

POSTGRES_SCHEMES = ("postgresql", "postgres")


def shown(where: str) -> str:
    """The name of a store without user, password and parameters, for events, messages and logs."""
    scheme, found, _ = where.partition("://")
    if not found or scheme == "sqlite":
        return where.removeprefix("sqlite:///")
    try:
        parts = urlsplit(where)
        host, port = parts.hostname or "localhost", f":{parts.port}" if parts.port else ""
    except ValueError:
        # Not even a URL: show nothing that could be part of a password.
        return f"{scheme}://..."
    return f"{scheme}://{host}{port}{parts.path}"


def without_secrets(text: str, where: str) -> str:
    """A message in which neither the URL of a store nor its password shows."""
    text = text.replace(where, shown(where))
    try:
        password = urlsplit(where).password if "://" in where else None
    except ValueError:
        password = None
    if password:
        text = text.replace(password, "***")
    return re.sub(r"(password=)('[^']*'|\S+)", r"\1***", text)


def open_store(where: str, *, create: bool, read_only: bool) -> tuple[Store, str]:
    """The store at ``where`` and its name for people; raises LogError."""
    scheme, found, _ = where.partition("://")
    if found and scheme in POSTGRES_SCHEMES:
        return _open_postgres(where, create=create, read_only=read_only)
    if found and scheme != "sqlite":
        raise LogError(f"{scheme}:// is not a store that this version opens; give a file path or postgresql://...")
    path = Path(shown(where))
    if not create and not path.exists():
        raise LogError(f"there is no log at {path}; `kernelwright run --store {path}` would start one")
    if path.is_dir():
        raise LogError(f"{path} is a folder; a log is a file")
    with explained(str(path)):
        return SQLiteStore(str(path), read_only=read_only), str(path)


def _open_postgres(where: str, *, create: bool, read_only: bool) -> tuple[Store, str]:
    name = shown(where)
    try:
        from .postgres import PostgresStore
    except ImportError as error:
        raise LogError(
            f"{name} needs the PostgreSQL driver, which is not installed; install it with "
            "`pip install 'kernelwright[postgres]'`"
        ) from error
    with explained(name):
        store = PostgresStore(where, create=create, read_only=read_only)
        if not create and not store.exists():
            store.close()
            raise LogError(f"there is no log at {name}; `kernelwright run --store ...` would start one")
        return store, name
