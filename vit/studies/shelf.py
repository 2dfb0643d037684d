"""Results as pages ask for them: each file is read once, and again only when it has changed. No torch is needed."""

from dataclasses import dataclass

from vit.caches import SizedCache
from vit.runs import fingerprint
from vit.studies.results import FOLDER, BadStudy, Result, path_of, read
from vit.studies.study import Computation, Study

IN_MEMORY = 8  # bytes for each byte of a file, about


@dataclass(frozen=True)
class Shelved:
    """A study's result; without one, a sentence if its file is damaged, and nothing if there is none."""

    result: Result | None
    problem: str = ""
    size: int = 0


_read: SizedCache[Shelved] = SizedCache(60_000_000, lambda shelved: shelved.size)


def result_of(study: Study | Computation) -> Shelved:
    path = path_of(study.id, FOLDER)
    try:
        key, size = (study.id, str(path), fingerprint(path)), path.stat().st_size
    except OSError:
        return Shelved(None)

    def look() -> Shelved:
        try:
            return Shelved(read(study, path), size=IN_MEMORY * size)
        except BadStudy as error:
            return Shelved(None, str(error), size=len(str(error)))

    return _read.get(key, look)
