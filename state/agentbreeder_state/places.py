"""The folder state lives in, and the words for what can be wrong with it. A person reads them before anything is made."""

from __future__ import annotations

import errno
import os
import shlex
import stat
from pathlib import Path
from typing import NoReturn
from uuid import uuid4

from agentbreeder_core.errors import StateError

FOLDER, FILE = ".agentbreeder", "infra-state.json"
PROBE = ".probe-"
_IGNORE = "# what is made in the cloud; share it on purpose or not at all\n*\n"
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_NOT_ALLOWED = frozenset({errno.EACCES, errno.EPERM})


def prepare(folder: Path) -> None:
    """Make the state folder with its own `.gitignore`, if it is not there. Raises `StateError`."""
    make_folder(folder)
    ignore = folder / ".gitignore"
    try:
        if not ignore.exists():
            ignore.write_text(_IGNORE, encoding="utf-8")
    except OSError as e:
        raise refused(ignore, "cannot be written", e) from e


def make_folder(path: Path) -> None:
    """Make a folder, mode 0700, if it is not there. Raises `StateError`."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        refuse_no_folder(path)
    except OSError as e:
        raise refused(path, "cannot be made", e) from e


def folder_exists(path: Path) -> bool:
    """False only when there surely is none. Raises `StateError` for a file, and for what cannot be looked into."""
    try:
        os.listdir(path)
    except FileNotFoundError:
        return False
    except NotADirectoryError:
        refuse_no_folder(path)
    except OSError as e:
        raise refused(path, "cannot be read", e) from e
    return True


def probe(folder: Path) -> None:
    """Write and remove a file in it. Raises `StateError`."""
    path = folder / f"{PROBE}{os.getpid()}-{uuid4().hex}"
    try:
        path.write_bytes(b"x")
        path.unlink()
    except OSError as e:
        raise refused(folder, "is not writable", e) from e


def must_be_file(path: Path) -> None:
    """Refuse anything but an ordinary file, or nothing, at this place. Raises `StateError`."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    except OSError as e:
        raise refused(path, "cannot be read", e) from e
    if stat.S_ISLNK(mode):
        raise StateError(
            f"{path} is a symbolic link; a save would replace the link and leave what it points to behind",
            hint=f"put the file itself there; to keep state elsewhere, link the folder {path.parent} instead",
        )
    if not stat.S_ISREG(mode):
        what = "a folder" if stat.S_ISDIR(mode) else "something else"
        raise StateError(f"{path} is {what}, not a file", hint=f"move {path} away")


def must_be_usable(path: Path) -> None:
    """Refuse also a file that is not this user's, such as one that a run under sudo left. Raises `StateError`."""
    must_be_file(path)
    try:
        os.close(os.open(path, os.O_RDWR))
    except FileNotFoundError:
        return
    except OSError as e:
        raise refused(path, "cannot be read and written", e) from e


def refuse_dead_link(path: Path) -> None:
    """Raise `StateError` for a link that leads nowhere: a share that is not mounted is not "no state"."""
    if path.is_symlink() and not os.path.exists(path):
        raise StateError(
            f"{path} is a link to {path.readlink()}, which is not there", hint="mount it, or remove the link"
        ) from None


def refuse_no_folder(path: Path) -> NoReturn:
    """Raise `StateError` for whatever is in place of the folder `path` or of one above it."""
    culprit = next((p for p in (path, *path.parents) if os.path.lexists(p)), path)
    refuse_dead_link(culprit)
    raise StateError(f"{culprit} is a file, not a folder", hint=f"move {culprit} away") from None


def refused(path: Path, what: str, error: OSError) -> StateError:
    """The `StateError` for an operating-system error on `path`: what failed, why, and how to mend it."""
    return StateError(f"{path} {what}: {error.strerror or error}", hint=mend(path, error))


def no_locks(path: Path) -> StateError:
    """The `StateError` for a file system that cannot lock."""
    return StateError(f"{path} is on a file system without locks", hint="use --project-dir with a local folder")


def mend(path: Path, error: OSError) -> str:
    """One thing to do about it, or "" when nothing general can be said."""
    if error.errno in _NO_ROOM:
        return f"make room on the disk of {path}"
    if error.errno in _NOT_ALLOWED:
        return _take_over(path)
    if error.errno == errno.EROFS:
        return f"{path} is on a read-only file system: use --project-dir with a folder that can be written"
    return ""


def _take_over(path: Path) -> str:
    folder = next((p for p in (path, *path.parents) if p.name == FOLDER), path)
    if os.path.exists(folder):
        return f'sudo chown -R "$USER" {shlex.quote(str(folder))}'
    return f"make {folder.parent} writable, or use --project-dir with a folder that is"
