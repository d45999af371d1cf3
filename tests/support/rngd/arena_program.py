"""A stand-in for ``furiosa-arena``: run as a program, never imported. Its state is a folder beside it.

Jobs wait for a number of ``status`` calls and are then run for real, with their time limit. ``orders.json`` says how to
misbehave: each key holds how often it still does.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HOME = Path(sys.argv[0]).absolute().parent / "arena-state"
HOME.mkdir(exist_ok=True)
LIMIT_SECONDS = 70


def orders() -> dict[str, float]:
    path = HOME / "orders.json"
    return json.loads(path.read_text()) if path.exists() else {}


def misbehaves(name: str) -> bool:
    given = orders()
    left = given.get(name, 0)
    if left:
        (HOME / "orders.json").write_text(json.dumps({**given, name: left - 1}))
    return bool(left)


def fail(said: str, status: int = 1) -> int:
    print(f"Error: {said}", file=sys.stderr)
    return status


def job_path(number: str) -> Path:
    return HOME / "jobs" / number


def read(number: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((job_path(number) / "job.json").read_text())
    return found


def write(job: dict[str, Any]) -> None:
    (job_path(str(job["id"])) / "job.json").write_text(json.dumps(job))


def numbers() -> list[str]:
    folder = HOME / "jobs"
    return sorted((path.name for path in folder.iterdir()), key=int) if folder.exists() else []


def submit(arguments: list[str]) -> int:
    options = dict(zip(arguments, [*arguments[1:], ""], strict=True))
    values = {options[name] for name in ("--name", "--entrypoint", "--timeout")}
    files = [each for each in arguments if not each.startswith("--") and each not in values]
    if misbehaves("logged-out"):
        return fail("not logged in; run `furiosa-arena login`")
    if int(options["--timeout"]) > LIMIT_SECONDS:
        return fail(f"timeout_sec {options['--timeout']} exceeds server maximum {LIMIT_SECONDS}")
    active = [n for n in numbers() if read(n)["status"] in ("queued", "running")]
    if misbehaves("quota") or len(active) >= 2:
        return fail("quota exceeded: 2 active jobs per user")
    if misbehaves("down"):
        return fail("error sending request: connection refused")
    number = str(4000 + len(numbers()))
    folder = job_path(number)
    folder.mkdir(parents=True)
    for each in files:
        content = Path(each).read_bytes()
        (folder / Path(each).name).write_bytes(content)
    job = {
        "id": int(number), "name": options["--name"], "status": "queued", "exit_code": None, "duration_sec": None,
        "finished_at": None, "entry": options["--entrypoint"], "timeout": int(options["--timeout"]),
        "polls": int(orders().get("polls-in-queue", 0)),
    }  # fmt: skip
    write(job)
    if misbehaves("lost-answer"):
        return fail("error sending request: connection reset by peer")
    if misbehaves("killed-after-submit"):
        os.kill(os.getppid(), signal.SIGKILL)
        return 1
    print(f"submitted job {number}")
    return 0


def run(job: dict[str, Any]) -> None:
    folder = job_path(str(job["id"]))
    begun = time.monotonic()
    seconds = float(orders().get("job-seconds", job["timeout"]))
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            ["/bin/sh", str(folder / str(job["entry"]))], stdout=log, stderr=log, start_new_session=True
        )
        try:
            job["exit_code"] = process.wait(seconds)
            job["status"] = "succeeded" if job["exit_code"] == 0 else "failed"
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            job["status"], job["exit_code"] = "failed", 124
    job["duration_sec"] = round(time.monotonic() - begun, 3)
    job["finished_at"] = "2026-09-20T10:00:00Z"
    if misbehaves("no-cycles"):
        text = (folder / "log").read_text()
        kept = ["    cycles=none observed" if "cycles=" in line else line for line in text.splitlines()]
        (folder / "log").write_text("\n".join(kept) + "\n")
    write(job)


def status(number: str) -> int:
    if misbehaves("status-down"):
        return fail("502 Bad Gateway")
    if not job_path(number).exists():
        return fail(f"job {number} not found")
    job = read(number)
    if job["status"] == "queued":
        if int(str(job["polls"])) > 0:
            job["polls"] = int(str(job["polls"])) - 1
            write(job)
        elif misbehaves("cancelled-by-operator"):
            job["status"] = "cancelled"
            write(job)
        else:
            run(job)
            job = read(number)
    print(json.dumps({k: v for k, v in job.items() if k not in ("entry", "timeout", "polls")}, indent=2))
    return 0


def main() -> int:
    command, *rest = sys.argv[1:]
    with (HOME / "calls").open("a") as calls:
        calls.write(command + "\n")
    if command == "submit":
        return submit(rest)
    if command == "status":
        return status(rest[0])
    if command in ("logs", "result"):
        path = job_path(rest[0]) / "log"
        print(path.read_text(errors="replace") if path.exists() else "", end="")
        return 0
    if command == "list":
        if misbehaves("list-down"):
            return fail("connection timed out")
        print("   ID  NAME                                STATUS     SUBMITTED")
        for number in numbers():
            job = read(number)
            print(f" {number}  {job['name']}  {str(job['status']).upper()}  2026-09-20")
        return 0
    if command == "cancel":
        job = read(rest[0])
        if job["status"] in ("succeeded", "failed", "cancelled"):
            return fail(f"job {rest[0]} has ended")
        job["status"] = "cancelled"
        write(job)
        return 0
    if command == "rerun":
        job = read(rest[0])
        folder = job_path(rest[0])
        files = [str(path) for path in folder.iterdir() if path.name not in ("job.json", "log", job["entry"])]
        options = ["--name", str(job["name"]), "--entrypoint", str(job["entry"]), "--timeout", str(job["timeout"])]
        return submit([str(folder / str(job["entry"])), *files, *options])
    return fail(f"unknown command {command}", 2)


sys.exit(main())
