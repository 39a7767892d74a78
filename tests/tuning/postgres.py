"""A PostgreSQL server on loopback; installed from the system's packages if need be."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from glob import glob
from pathlib import Path
from tempfile import TemporaryDirectory

USER = "postgres"


class Unavailable(Exception):  # noqa: N818 - said as a sentence: it is unavailable
    """There is no server here, and none can be installed."""


@contextmanager
def server() -> Iterator[str]:
    """Start a server with its data in a folder that goes away; give the address of a database."""
    programs = find() or install()
    user = USER if os.getuid() == 0 else None  # it refuses to run as root
    with TemporaryDirectory() as folder:
        if user is not None:
            shutil.chown(folder, user)
        port, log = free_port(), subprocess.DEVNULL  # no pipe, which the server would hold open

        def run(program: str, *args: str) -> None:
            command = [str(programs / program), "-D", f"{folder}/data", *args]
            subprocess.run(command, check=True, stdout=log, stderr=log, cwd=folder, user=user)

        run("initdb", "-U", USER, "-A", "trust", "--no-sync")
        options = f"-h 127.0.0.1 -p {port} -k {folder} -c fsync=off"
        run("pg_ctl", "start", "-w", "-l", f"{folder}/log", "-o", options)
        try:
            yield f"postgresql+psycopg://{USER}@127.0.0.1:{port}/{USER}"
        finally:
            run("pg_ctl", "stop", "-m", "immediate")


def find() -> Path | None:
    """Return the folder of the newest server's programs."""
    there = [shutil.which("pg_ctl"), *sorted(glob("/usr/lib/postgresql/*/bin/pg_ctl"))]
    return next((Path(each).resolve().parent for each in reversed(there) if each), None)


def install() -> Path:
    """Install a server from the system's packages."""
    if shutil.which("apt-get") is None or os.getuid() != 0:
        raise Unavailable("there is no PostgreSQL server, and only root with apt-get installs one")
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update"], ["install", "-y", "--no-install-recommends", "postgresql"]):
        done = subprocess.run(
            ["apt-get", "-qq", *command], env=env, capture_output=True, text=True, timeout=300
        )
    if (found := find()) is None:
        raise Unavailable(f"PostgreSQL could not be installed: {done.stderr.strip()[-200:]}")
    return found


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])
