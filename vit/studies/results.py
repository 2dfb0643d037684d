"""The result of a study: one JSON file with every run, from which figures and verdict can be computed again.

A file is trusted in nothing: what is cut off or strange is refused in a sentence.
"""

import json
import math
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from vit.files import why, write_atomically
from vit.studies.strict import as_whole, need, number, number_list, numbers, whole, word
from vit.studies.study import VERDICTS, Computation, Computed, Lookup, Study, Values, all_of, any_arm_of

FOLDER = Path(__file__).parent.parent.parent / "assets" / "studies"
FORMAT = 1
DIGITS = 6  # after the point
ENDS = ("done", "diverged")

Row = tuple[int, float, float]  # step, loss, accuracy in percent
Reading = float | list[float]


class BadStudy(ValueError):
    """Says in one sentence why a result cannot be used."""


@dataclass(frozen=True)
class RunResult:
    """One run, with all that the figures are made of."""

    setting: str
    arm: str
    seed: int
    ended: str  # done, or diverged: then the last validation counts
    step: int
    measures: dict[str, float]
    readings: dict[str, Reading]
    times: dict[str, float]  # measures that another machine would not repeat
    by_class: list[float]  # accuracy in percent, at the end
    validation: list[Row]
    training: list[Row]


@dataclass(frozen=True)
class Finding:
    """What one rule makes of one setting."""

    setting: str
    rule: int  # its number among the study's
    seeds: list[int]
    values: list[float]  # a difference or a measure for each seed
    mean: float
    low: float | None  # no interval: there are fewer than two seeds
    high: float | None
    visible: float | None
    verdict: str


@dataclass(frozen=True)
class Made:
    """How a result came about."""

    versions: dict[str, str]
    processor: str
    cores: int
    seconds: float  # of training, of all runs
    commit: str


@dataclass(frozen=True)
class Result:
    study: str
    verdict: str
    findings: list[Finding]
    figures: dict[str, float]  # of a computation
    runs: list[RunResult]
    made: Made


# Figures from runs


def result_of(study: Study, runs: list[RunResult], made: Made) -> Result:
    findings = findings_of(study, runs)
    return Result(study.id, verdict_of(study, findings), findings, {}, runs, made)


def result_of_computation(study: Computation, computed: Computed, made: Made) -> Result:
    figures = {name: round(value, DIGITS) for name, value in computed.figures.items()}
    return Result(study.id, computed.verdict, [], figures, [], made)


def computed_again(study: Study, result: Result) -> Result:
    """The same with findings and verdict from its runs, whatever the file says."""
    return result_of(study, result.runs, result.made)


def findings_of(study: Study, runs: list[RunResult]) -> list[Finding]:
    found = []
    for setting in study.settings:
        there = [run for run in runs if run.setting == setting.name]
        for place, rule in enumerate(study.rules):
            if rule in study.rules_in(setting.name):
                judged = rule.judge(looking_up(there))
                limits = [limit if math.isfinite(limit) else None for limit in
                          (judged.estimate.low, judged.estimate.high, judged.estimate.visible)]
                low, high, visible = (None if limit is None else round(limit, DIGITS) for limit in limits)
                found.append(Finding(
                    setting.name, place, list(judged.values), [round(v, DIGITS) for v in judged.values.values()],
                    round(judged.estimate.mean, DIGITS), low, high, visible, judged.verdict))
    return found


def looking_up(runs: list[RunResult]) -> Lookup:
    def values_of(measure: str) -> Values:
        values: dict[str, dict[int, float]] = {}
        for run in runs:
            value = {**run.readings, **run.times, **run.measures}.get(measure)
            if isinstance(value, int | float):
                values.setdefault(run.arm, {})[run.seed] = value
        return values

    return values_of


def verdict_of(study: Study, findings: list[Finding]) -> str:
    deciding = [finding for finding in findings if study.rules[finding.rule].decides]
    if not study.search:
        return all_of([finding.verdict for finding in deciding])
    by_arm: dict[str, list[str]] = {}
    for finding in deciding:
        by_arm.setdefault(f"{finding.setting}, {study.rules[finding.rule].arms}", []).append(finding.verdict)
    return any_arm_of(by_arm)


def without_times(result: Result) -> Result:
    """What the same machine gives again, to the last bit."""
    runs = [replace(run, times={}) for run in result.runs]
    return replace(result, runs=runs, made=replace(result.made, seconds=0.0, commit=""))


def how_far_apart(stored: Result, fresh: Result) -> str:
    """In a sentence: whether a study that was run again gives what is stored."""
    theirs = {(run.setting, run.arm, run.seed): run for run in stored.runs}
    both = [(run, theirs[key]) for run in fresh.runs if (key := (run.setting, run.arm, run.seed)) in theirs]
    if not both:
        return "There is nothing to compare it with."
    gaps = [abs(run.measures["accuracy"] - other.measures["accuracy"]) for run, other in both]
    same = sum(replace(run, times={}) == replace(other, times={}) for run, other in both)
    if same == len(both):
        return f"All {same} runs repeat what is stored, to the last digit."
    return (f"{same} of {len(both)} runs repeat what is stored to the last digit; final accuracies are at most "
            f"{max(gaps):.2f} points off, {sum(gaps) / len(gaps):.2f} on average. The verdict was “{stored.verdict}” "
            f"and is “{fresh.verdict}”.")


# Files


def path_of(study_id: str, folder: Path = FOLDER) -> Path:
    return folder / f"{study_id}.json"


def write(result: Result, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {"format": FORMAT} | asdict(result)
    runs = content.pop("runs")
    lines = ",\n ".join(json.dumps(run, ensure_ascii=False, separators=(",", ":"), allow_nan=False) for run in runs)
    head = json.dumps(content, ensure_ascii=False, indent=1, allow_nan=False)
    text = f'{head[:-2]},\n "runs": [{chr(10) + " " if runs else ""}{lines}]\n}}\n'  # a line for each run
    write_atomically(path, text.encode())


def read(study: Study | Computation, path: Path | None = None) -> Result:
    """The result in a file. Raises BadStudy with a sentence if there is none, or none that can be used."""
    path = path or path_of(study.id)
    try:
        content: Any = json.loads(path.read_bytes())
    except FileNotFoundError as error:
        raise BadStudy(f"“{study.title}” has not been run yet: there is no {path.name}.") from error
    except OSError as error:
        raise BadStudy(f"{path.name} cannot be read. {why(error)}") from error
    except (ValueError, RecursionError) as error:
        raise BadStudy(f"{path.name} is cut off or no JSON; run the study again to make it.") from error
    try:
        result = _parsed(content)
        _check(result, study)
    except KeyError as error:
        raise BadStudy(f"{path.name} does not tell its {error.args[0]}.") from error
    except (TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
        raise BadStudy(f"{path.name} cannot be used: {error}") from error
    return result


def _parsed(content: Any) -> Result:
    need(isinstance(content, dict), "it holds no result.")
    need(content["format"] == FORMAT, f"it has format {str(content['format'])[:20]!r}, and {FORMAT} is known here.")
    for name in ("findings", "runs"):
        need(isinstance(content[name], list), f"its {name} are no list.")
    return Result(
        study=word(content, "study"), verdict=word(content, "verdict"),
        findings=[_finding(finding) for finding in content["findings"]], figures=numbers(content, "figures"),
        runs=[_run(run) for run in content["runs"]],
        made=made_of(content["made"]),
    )


def made_of(told: Any) -> Made:
    return Made({str(name): str(version) for name, version in told["versions"].items()}, word(told, "processor"),
                whole(told, "cores"), number(told["seconds"]), word(told, "commit"))


def _finding(value: Any) -> Finding:
    low, high, visible = (None if value[name] is None else number(value[name]) for name in ("low", "high", "visible"))
    return Finding(word(value, "setting"), whole(value, "rule"), [as_whole(seed) for seed in value["seeds"]],
                   number_list(value["values"]), number(value["mean"]), low, high, visible, word(value, "verdict"))


def _run(value: Any) -> RunResult:
    readings = {name: number_list(found) if isinstance(found, list) else number(found)
                for name, found in value["readings"].items()}
    return RunResult(
        word(value, "setting"), word(value, "arm"), whole(value, "seed"), word(value, "ended"),
        whole(value, "step"), numbers(value, "measures"), readings, numbers(value, "times"),
        number_list(value["by_class"]), _rows(value["validation"]), _rows(value["training"]),
    )


def _check(result: Result, study: Study | Computation) -> None:
    need(result.study == study.id, f"it is the result of {result.study[:40]!r}, not of {study.id!r}.")
    verdicts = [result.verdict, *(finding.verdict for finding in result.findings)]
    need(all(verdict in VERDICTS for verdict in verdicts), f"verdicts are {', '.join(VERDICTS)}.")
    if isinstance(study, Computation):
        need(bool(result.figures), "it holds no figures.")
        return
    settings, arms = {setting.name for setting in study.settings}, {arm.name for arm in study.arms}
    for run in result.runs:
        need(run.setting in settings and run.arm in arms and run.ended in ENDS,
             f"the study knows no run of {run.arm[:40]!r} in {run.setting[:40]!r} that ended as {run.ended[:20]!r}.")
        need("accuracy" in run.measures, "a run does not tell its accuracy.")
    keys = [(run.setting, run.arm, run.seed) for run in result.runs]
    need(len(keys) == len(set(keys)), "it holds a run twice.")
    need(bool(keys), "it holds no run.")
    for finding in result.findings:
        known = finding.setting in settings and 0 <= finding.rule < len(study.rules)
        need(known and len(finding.seeds) == len(finding.values), "a finding belongs to no rule of the study.")


def _rows(values: Any) -> list[Row]:
    need(isinstance(values, list) and all(isinstance(row, list) and len(row) == 3 for row in values),
         "a curve has rows of step, loss and accuracy.")
    return [(as_whole(step, "step"), number(loss), number(accuracy)) for step, loss, accuracy in values]
