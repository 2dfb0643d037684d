"""Try what the texts claim: `python -m vit.studies STUDY…`, or all studies that have no result yet.

Runs lie in runs/studies (PATCHWISE_RUNS moves them), results in assets/studies. Ctrl-C saves, and the same command
goes on. With --seeds the result is not the recorded one, so that it stays beside the runs.
"""

import argparse
import shutil
import sys
from pathlib import Path

from tqdm import tqdm

from vit import runs
from vit.studies.catalogue import CATALOGUE
from vit.studies.results import FOLDER, BadStudy, Result, how_far_apart, path_of, read, result_of_computation, write
from vit.studies.running import made, plan, run
from vit.studies.study import Computation, Study

HOUR = 3600


def listed(folder: Path) -> str:
    """All studies, each with its verdict or how long it would take."""
    lines = []
    for study in CATALOGUE.values():
        try:
            state = read(study, path_of(study.id, folder)).verdict
        except BadStudy:
            state = f"not run: about {study.seconds / HOUR:.1f} hours of one core"
        lines.append(f"{study.number:>2}  {study.id:<28} {state:<42} {study.title}")
    return "\n".join(lines)


def missing(folder: Path) -> list[str]:
    return [name for name in CATALOGUE if not path_of(name, folder).exists()]


def with_progress(study: Study, root: Path, workers: int, seeds: int | None) -> Result:
    steps = sum(planned.steps for planned in plan(study, root, seeds))
    with tqdm(total=steps, unit=" steps", unit_scale=True, desc=study.id, file=sys.stdout) as bar:

        def tell(what: str, more: float) -> None:
            bar.set_postfix_str(what, refresh=False)
            bar.update(more)

        return run(study, root, workers, seeds, tell=tell)


def try_one(study: Study | Computation, arguments: argparse.Namespace) -> str:
    """Run it and keep its result; returns what to say."""
    recorded = path_of(study.id, arguments.output)
    if isinstance(study, Computation):
        write(result_of_computation(study, study.compute(), made(0.0)), recorded)
        return f"{study.id}: {read(study, recorded).verdict}."
    root = runs.root() / "studies-again" / study.id if arguments.again else runs.root() / "studies"
    here = root / f"{study.id}.json"
    stored = read(study, recorded) if arguments.again else None
    if arguments.again and here.exists():  # it has been repeated before, to the end
        shutil.rmtree(here.parent)
    result = with_progress(study, root, arguments.workers, arguments.seeds)
    path = here if arguments.again or arguments.seeds else recorded
    write(result, path)
    said = f"{study.id}: {result.verdict}. Every run stands in {path}."
    return f"{said}\n{how_far_apart(stored, result)}" if stored else said


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m vit.studies", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("studies", nargs="*", metavar="STUDY", help="all that have no result, if none is named")
    parser.add_argument("--list", action="store_true", help="show all studies with their verdicts")
    parser.add_argument("--workers", type=int, default=runs.max_workers(), help="how many runs at once, a core each")
    parser.add_argument("--seeds", type=int, help="so many, instead of those that the study declares")
    parser.add_argument("--again", action="store_true", help="run from the start, and tell how far off it is")
    parser.add_argument("--output", type=Path, default=FOLDER, help="the folder for results")
    arguments = parser.parse_args(words)
    if arguments.list:
        print(listed(arguments.output))
        return 0
    unknown = [name for name in arguments.studies if name not in CATALOGUE]
    if unknown:
        parser.error(f"There is no study {unknown[0]!r}; there are {', '.join(CATALOGUE)}.")
    if arguments.workers < 1 or (arguments.seeds is not None and arguments.seeds < 1):
        parser.error("--workers and --seeds are at least 1.")
    code = 0
    for name in arguments.studies or missing(arguments.output):
        try:
            print(try_one(CATALOGUE[name], arguments))
        except BadStudy as error:  # the others can still be tried
            print(f"{name}: {error}", file=sys.stderr)
            code = 1
        except KeyboardInterrupt:
            print("Interrupted. What was trained is saved, and the same command goes on.", file=sys.stderr)
            return 130
    return code


if __name__ == "__main__":
    sys.exit(main())
