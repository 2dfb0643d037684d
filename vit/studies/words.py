"""What came out of a study, in plain sentences: made from its findings, never typed by hand."""

from collections.abc import Callable, Mapping

from vit.numbers import number, plain, with_sign
from vit.studies.results import Finding, Result
from vit.studies.study import (
    CANNOT_TELL,
    DOES_NOT,
    HOLDS,
    IN_PART,
    Above,
    Between,
    Computation,
    Near,
    NoWorse,
    Rule,
    Study,
)

NOT_TRIED = "not tried yet"
OTHER_UNITS = {"log2 of seconds an image": "halvings", "log10 of gradients, first block over last": "powers of ten"}
RATIOS = {  # differences of logarithms, told as ratios
    "log2 of seconds an image": (2.0, "takes {} times as long for an image as"),
    "log10 of gradients, first block over last":
        (10.0, "keeps {} times as much of the last block's gradient in its first block as"),
}


# Measures


def in_percent(measure: str) -> bool:
    return "accuracy" in measure


def unit_of_difference(measure: str) -> str:
    return "points" if in_percent(measure) or measure == "gap" else OTHER_UNITS.get(measure, "")


def value(measure: str, found: float) -> str:
    """A measure of one run."""
    if in_percent(measure):
        return f"{plain(found)} %"
    return with_unit(plain(found) if abs(found) < 100 else number(found), unit_of_difference(measure))


def difference(measure: str, found: float) -> str:
    return with_unit(with_sign(found), unit_of_difference(measure))


def with_unit(text: str, unit: str) -> str:
    return f"{text} {unit}".strip()


def count(many: int, thing: str) -> str:
    return f"{many:,} {thing}{'' if many == 1 else 's'}"


# One finding


def finding_in_words(rule: Rule, finding: Finding) -> str:
    """What was measured, and why that is the rule's verdict: one sentence."""
    if not finding.values:
        return "There are no runs that could be compared."
    if isinstance(rule, Above | NoWorse):
        return f"{_measured_difference(rule, finding)}{_because(rule, finding)}."
    if isinstance(rule, Between | Near):
        return f"{_measured_value(rule, finding)}{_in_range(rule, finding)}."
    return f"The mean is {plain(finding.mean)}."


def _measured_difference(rule: Above | NoWorse, finding: Finding) -> str:
    if rule.measure in RATIOS:
        base, told = RATIOS[rule.measure]
        return (f"“{rule.first}” {told.format(_ratio(base, finding.mean))} “{rule.second}” "
                f"({_sure(finding, lambda power: _ratio(base, power))})")
    size, sure = plain(abs(finding.mean)), _sure(finding, with_sign)
    if size == plain(0):
        told = f"{rule.measure.capitalize()} of “{rule.first}” and of “{rule.second}”"
        return f"{told} is the same to a hundredth ({sure})"
    ahead = finding.mean >= 0
    if rule.measure == "accuracy":
        verb = "is ahead of" if ahead else "is behind"
        told = f"“{rule.first}” {verb} “{rule.second}” by"
    else:
        verb = "above" if ahead else "below"
        told = f"{rule.measure.capitalize()} of “{rule.first}” lies {verb} that of “{rule.second}” by"
    return f"{told} {with_unit(size, unit_of_difference(rule.measure))} ({sure})"


def _ratio(base: float, power: float) -> str:
    return number(base ** min(power, 300.0))


def _sure(finding: Finding, written: Callable[[float], str]) -> str:
    seeds = count(len(finding.values), "seed")
    if finding.low is None or finding.high is None:
        return f"{seeds}, so no interval"
    return f"95 % sure: {written(finding.low)} to {written(finding.high)}; {seeds}"


def _because(rule: Above | NoWorse, finding: Finding) -> str:
    if finding.verdict == CANNOT_TELL:
        return _too_close(finding)
    if isinstance(rule, NoWorse):
        return {HOLDS: ": no worse", IN_PART: f": a little worse, but by less than {rule.margin:g}",
                DOES_NOT: f": worse by more than {rule.margin:g}"}[finding.verdict]
    if finding.verdict == HOLDS:
        return ""
    if finding.verdict == IN_PART:
        return f": more than nothing, but not surely more than the {rule.margin:g} that the rule asks for"
    if finding.high is not None and finding.high < 0:
        return ": the other way round"
    if finding.high is not None and finding.high < rule.margin:
        return f": less than the {rule.margin:g} that the rule asks for"
    return f": nothing to be seen, and {rule.visible:g} would have been"


def _too_close(finding: Finding) -> str:
    if finding.visible is None:
        return ": one seed tells nothing"
    return f": too scattered to tell, since only an effect of {plain(finding.visible)} would surely show"


def _measured_value(rule: Between | Near, finding: Finding) -> str:
    told = f"{rule.measure.capitalize()} of “{rule.arm}” is {value(rule.measure, finding.mean)}"
    return f"{told} ({_sure(finding, plain)})"


def _in_range(rule: Between | Near, finding: Finding) -> str:
    if finding.verdict == CANNOT_TELL:
        return ": the interval crosses the edge of what the rule asks for" if finding.low is not None else ""
    if isinstance(rule, Near):
        told = value(rule.measure, rule.figure)
        return f"; {told} is reported" + ("" if finding.verdict == HOLDS else ", which is something else")
    inside = "within" if finding.verdict == HOLDS else "outside"
    return f": {inside} {rule.low:g} to {rule.high:g}"


def could_have_seen(rule: Rule, finding: Finding) -> str:
    """How small a difference so many seeds of such a spread show in 8 of 10 cases."""
    if finding.visible is None or not isinstance(rule, Above | NoWorse):
        return ""
    return with_unit(plain(finding.visible), unit_of_difference(rule.measure))


# A whole study


def outcome(study: Study | Computation, result: Result) -> str:
    """What came out, in one sentence."""
    if isinstance(study, Computation):
        return of_figures(study.id, result.figures)
    deciding = [finding for finding in result.findings if study.rules[finding.rule].decides]
    if not deciding:
        return "Its runs were not compared."
    if study.search:
        return _of_a_search(study, deciding, result.verdict)
    if len(deciding) == 1:
        return _in_its_setting(study, deciding[0])
    holding = [finding for finding in deciding if finding.verdict == HOLDS]
    others = [finding for finding in deciding if finding.verdict != HOLDS]
    all_of_them = "Both" if len(deciding) == 2 else f"All {len(deciding)}"
    some_of_them = f"{len(holding) or 'None'} of {len(deciding)}"
    so_many = f"{some_of_them if others else all_of_them} comparisons hold"
    if holding and others:  # what is rarer says more
        few = others if len(others) <= len(holding) else holding
        return f"{so_many}; {'not this' if few is others else 'this does'}: {_in_its_setting(study, few[0])}"
    telling = next((finding for finding in deciding if finding.verdict == result.verdict), deciding[0])
    instance = _in_its_setting(study, telling)
    return f"{so_many}. {instance[0].upper()}{instance[1:]}"


def _in_its_setting(study: Study, finding: Finding) -> str:
    sentence = finding_in_words(study.rules[finding.rule], finding)
    return f"{finding.setting}: {sentence}" if len(study.settings) > 1 else sentence


def _of_a_search(study: Study, deciding: list[Finding], verdict: str) -> str:
    tried: dict[tuple[str, str], list[Finding]] = {}
    for finding in deciding:
        tried.setdefault((finding.setting, ", ".join(study.rules[finding.rule].arms)), []).append(finding)
    so_many = count(len(tried), "setting")
    if verdict == HOLDS:
        for (setting, arm), findings in tried.items():
            if all(finding.verdict == HOLDS for finding in findings):
                return f"One of {so_many} that were tried gives all figures: {setting}, “{arm}”."
    hits = [finding for finding in deciding if finding.verdict == HOLDS]
    none = f"None of {so_many} that were tried gives all figures"
    return f"{none}; the nearest: {_in_its_setting(study, hits[0])}" if hits else f"{none}, or one of them."


# Computations


def of_figures(study_id: str, figures: Mapping[str, float]) -> str:
    try:
        return COMPUTED[study_id](figures)
    except KeyError:  # figures of another version, or of a study that has no sentence of its own
        return "; ".join(f"{name}: {number(found)}" for name, found in list(figures.items())[:3]) + "."


def _batches(figures: Mapping[str, float]) -> str:
    perfect = figures["chance that a model of 95.47 % reads all 32"]
    worse = figures["chance that a model of 97.39 % reads at most 30 of 32"]
    return (f"Going by its validation accuracies, the weaker model reads all 32 in {perfect:.0f} % of cases, and the "
            f"better one at most 30 in {worse:.0f} %.")


def _weights(figures: Mapping[str, float]) -> str:
    counted = figures["weights of the article's shape"]
    return (f"Its stated shape has {counted:,.0f} weights, not {figures['claimed']:,.0f}; a model with 6 blocks would "
            f"have {figures['weights with 6 blocks']:,.0f}.")


def _places(figures: Mapping[str, float]) -> str:
    return (f"{figures['percent of the weights in the blocks']:.1f} % lie in the blocks, and the MLPs have "
            f"{figures['MLP over attention']:.2f} times as many as attention.")


def _gelu(figures: Mapping[str, float]) -> str:
    changed = count(int(figures["answers that change"]), "answer")
    return (f"On {figures['digits']:.0f} digits no logit of the shipped model moves by more than "
            f"{number(figures['largest difference of a logit'])}; {changed} changed.")


def _conv2d(figures: Mapping[str, float]) -> str:
    return (f"On {figures['digits']:.0f} digits both give the same embeddings, but for "
            f"{number(figures['largest difference of an embedding'])} of rounding.")


COMPUTED: dict[str, Callable[[Mapping[str, float]], str]] = {
    "batch-of-32": _batches, "number-of-weights": _weights, "where-the-weights-are": _places, "gelu-by-tanh": _gelu,
    "conv2d-trick": _conv2d,
}
