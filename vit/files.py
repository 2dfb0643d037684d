"""Files that are whole or not there, and what to say when the disk refuses."""

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
NOT_ALLOWED = (errno.EACCES, errno.EPERM, errno.EROFS)


def write_atomically(path: Path, content: bytes) -> None:
    """Either the whole new file or the old one: never a half, not even on a full disk."""
    with whole_or_not(path) as temporary:
        temporary.write_bytes(content)


@contextmanager
def whole_or_not(path: Path) -> Iterator[Path]:
    """Where to write what shall be `path` once it is whole and safe on the disk. Its folder has to be there."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def why(error: OSError) -> str:
    """What the system refused, as a sentence without its numbers."""
    if error.errno in NO_ROOM:
        return "The disk is full. Make room, perhaps by deleting old runs, and try again."
    where = Path(error.filename).name if isinstance(error.filename, str | Path) else "a file"
    if error.errno in NOT_ALLOWED:
        return f"The server may not write {where}."
    if error.errno is None:
        return str(error) or "The system refused, without a reason."
    return f"The system refused {where}: {(error.strerror or 'no reason given').lower()}."
