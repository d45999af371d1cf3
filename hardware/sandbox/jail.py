"""Build the command line that confines a command: the launcher, then bubblewrap where it works, then the command."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ..target import TargetError
from .level import SandboxLevel, SandboxReport
from .process import run_bounded

NOBODY = 65534
"""The uid and gid that root changes to."""
Wanted = Literal["auto", "full", "reduced"]
_SYSTEM = ("/usr", "/lib", "/lib64", "/lib32", "/bin", "/sbin", "/etc/alternatives", "/etc/ld.so.cache")
_FULL = (
    "bubblewrap: own user, process, network, IPC, UTS and mount namespaces, no capabilities, a read-only view of the"
    " system's libraries; unprivileged uid, resource limits, system call filter"
)
_REDUCED = "no namespaces (files of the host are visible to the compiler); unprivileged uid where the user is root,"
_REDUCED_REST = " resource limits, system call filter, empty environment"
_LAUNCHER = "/launcher"
_ALLOW = "allow the reduced sandbox by name (cpu target, sandbox = reduced)"


@dataclass(frozen=True)
class Limits:
    """Resource limits of a confined command; 0 means none. Bytes, a number of processes, and the nice value wanted."""

    address_bytes: int = 0
    file_bytes: int = 0
    processes: int = 0
    nice: int = 0


@dataclass(frozen=True)
class Mount:
    """A path of the host that the command may see, read only unless ``writable``, at ``inside`` (default: same path).

    ``device`` is for a device file that a tool cannot do without, such as ``/dev/null``.
    """

    path: Path
    writable: bool = False
    inside: str = ""
    device: bool = False


class Jail:
    """Confines commands at one level. ``launcher`` is the compiled launcher program.

    ``wanted`` is ``full`` (or TargetError), ``reduced``, or ``auto``: full where it works, otherwise a TargetError that
    names the setting which allows the reduced level. It is never lowered silently.
    """

    def __init__(self, launcher: Path, wanted: Wanted = "auto") -> None:
        self._launcher = launcher
        self._bubblewrap = shutil.which("bwrap")
        self._uid = NOBODY if os.geteuid() == 0 else -1
        if wanted == "reduced":
            self.report = SandboxReport(SandboxLevel.REDUCED, _REDUCED + _REDUCED_REST, "namespaces", "sandbox = full")
            return
        missing, fix = self._why_not_full()
        if missing:
            raise TargetError(f"no full sandbox: {missing}; {fix}, or {_ALLOW}")
        self.report = SandboxReport(SandboxLevel.FULL, _FULL)

    def _why_not_full(self) -> tuple[str, str]:
        """What is missing for the full level and what would fix it; empty strings when a trial run worked."""
        if self._bubblewrap is None:
            return "bubblewrap is not installed", "run `apt-get install bubblewrap`"
        descriptor = os.memfd_create("trial", 0)
        try:
            os.write(descriptor, self._launcher.read_bytes())
            # The launcher without arguments ends with status 2: the proof that it started inside.
            argv = self._launch(Limits()) + self._wrap(self._bubblewrap, (), "/") + [f"/proc/self/fd/{descriptor}"]
            done = run_bounded(argv, timeout_seconds=10, environment={}, descriptors=(descriptor,))
        finally:
            os.close(descriptor)
        if done.status == 2:
            return "", ""
        said = done.output.strip().splitlines()
        return (
            f"bubblewrap does not work here ({said[0] if said else f'exit status {done.status}'})",
            "let unprivileged users make namespaces (sysctl kernel.unprivileged_userns_clone=1, or"
            " kernel.apparmor_restrict_unprivileged_userns=0)",
        )

    @property
    def level(self) -> SandboxLevel:
        """The level that commands are confined at."""
        return self.report.level

    @property
    def uid(self) -> int:
        """The uid that commands run under on the host; -1 when it is the caller's."""
        return self._uid

    def command(self, argv: Sequence[str], limits: Limits, mounts: Sequence[Mount] = (), cwd: str = "/") -> list[str]:
        """The confined form of ``argv``. Descriptors that the caller passes on stay open inside.

        At the reduced level mounts are not possible: paths inside must equal paths outside, and the caller sets the
        working directory.
        """
        launch = self._launch(limits)
        if self.level is SandboxLevel.FULL and self._bubblewrap is not None:
            return launch + self._wrap(self._bubblewrap, mounts, cwd) + list(argv)
        return launch + list(argv)

    def command_of_owner(
        self, argv: Sequence[str], limits: Limits, mounts: Sequence[Mount], cwd: str = "/"
    ) -> list[str]:
        """The same for a program that the unprivileged user cannot reach by its path (an interpreter in root's home).

        Where the user is root at the full level, the mounts are made by root and the launcher gives its privileges away
        inside them; everywhere else this is :meth:`command`.
        """
        if self.level is not SandboxLevel.FULL or self._bubblewrap is None or self._uid < 0:
            return self.command(argv, limits, mounts, cwd)
        wrap = self._wrap(self._bubblewrap, (), cwd)
        start = wrap.index("--unshare-all")
        wrap[start : start + 1] = ["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts"]
        drop = ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
        shown = [*mounts, Mount(self._launcher, inside=_LAUNCHER)]
        made: dict[str, None] = {}
        for mount in shown:  # folders on the way to a mount would be root's alone
            way = reversed(Path(mount.inside or str(mount.path)).parents)
            made |= dict.fromkeys(str(folder) for folder in way if str(folder) != "/")
        folders = [word for folder in made if folder not in _SYSTEM for word in ("--perms", "0755", "--dir", folder)]
        end = wrap.index("--chdir")
        inside = [_LAUNCHER, *self._launch(limits)[1:]]
        return [*wrap[:end], *drop, *folders, *_bind(shown), *wrap[end:], *inside, *argv]

    def _launch(self, limits: Limits) -> list[str]:
        uid = str(self._uid)
        numbers = (limits.address_bytes, limits.file_bytes, limits.processes, limits.nice)
        return [str(self._launcher), uid, uid, *map(str, numbers)]

    @staticmethod
    def _wrap(bubblewrap: str, mounts: Sequence[Mount], cwd: str) -> list[str]:
        argv = [bubblewrap, "--unshare-all", "--die-with-parent", "--cap-drop", "ALL"]
        for name in _SYSTEM:
            path = Path(name)
            if path.is_symlink() and len(path.parts) == 2:
                argv += ["--symlink", str(path.readlink()), name]
            elif path.exists():
                argv += ["--ro-bind", name, name]
        # No /dev but what is mounted by name: reading a device may never end.
        return [*argv, "--proc", "/proc", *_bind(mounts), "--chdir", cwd]


def _bind(mounts: Sequence[Mount]) -> list[str]:
    argv: list[str] = []
    for mount in mounts:
        how = "--dev-bind" if mount.device else "--bind" if mount.writable else "--ro-bind"
        argv += [how, str(mount.path), mount.inside or str(mount.path)]
    return argv
