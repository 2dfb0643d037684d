"""Claims in words and tables: the list of all, the head of one, what rules found, and the article's own figures."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from vit.charts.claims import BADGES
from vit.charts.picture import TemplatePicture
from vit.numbers import duration, number
from vit.studies import article, words
from vit.studies.meanings import MEANINGS
from vit.studies.results import Finding, Made, Result
from vit.studies.study import ORIGINAL, TEXTS, VERDICTS, Computation, Study
from vit.studies.words import NOT_TRIED, count

Studies = Sequence[Study | Computation]
NOTHING = "–"
THEIRS = "Theirs took a GPU, and its test accuracy is that of one batch; ours is that of all test images."
COMMIT = 10  # characters of its name that tell it from others


class Told(NamedTuple):
    """What there is to say of a claim."""

    verdict: str
    sentence: str


def tell(study: Study | Computation, result: Result | None, problem: str = "") -> Told:
    if result:
        return Told(result.verdict, words.outcome(study, result))
    if problem:
        return Told(NOT_TRIED, f"Its result cannot be shown: {problem}")
    if isinstance(study, Computation):
        return Told(NOT_TRIED, "It needs no training: its command computes it.")
    runs = sum(setting.seeds * len(study.arms) for setting in study.settings)
    return Told(NOT_TRIED, f"It takes {count(runs, 'run')}, about {duration(study.seconds)} of one core.")


# All claims


class Row(NamedTuple):
    number: int
    claim: str
    whose: str
    verdict: str
    kind: str
    sentence: str
    words: str  # by which it is found
    link: str


class Filter(NamedTuple):
    name: str
    word: str
    many: int


def all_claims(studies: Studies, told: Sequence[Told]) -> TemplatePicture:
    """Like a referee's report: the claim, whose it is, the verdict, one sentence. The number of a row is its place."""
    rows = [
        Row(study.number, study.claim, whose(study), verdict, BADGES[verdict], sentence,
            " ".join([BADGES[verdict], *dict.fromkeys(f"text-{place.text}" for place in study.places)]),
            f"?claim={study.id}")
        for study, (verdict, sentence) in zip(studies, told, strict=True)
    ]
    verdicts = [Filter(verdict, BADGES[verdict], sum(row.verdict == verdict for row in rows))
                for verdict in (*VERDICTS, NOT_TRIED)]
    texts = [Filter(f"from {text.name}", f"text-{key}", sum(f"text-{key}" in row.words for row in rows))
             for key, text in TEXTS.items()]
    filters = [Filter("all", "", len(rows)), *(one for one in (*verdicts, *texts) if one.many)]
    return TemplatePicture("claims", {"rows": rows, "filters": filters}, alt="all claims, with their verdicts")


def whose(study: Study | Computation) -> str:
    """The short names of the texts in which it stands."""
    return ", ".join(dict.fromkeys(TEXTS[place.text].name for place in study.places))


def bibliography(studies: Studies) -> TemplatePicture:
    introduction = (f"{count(len(TEXTS), 'text')} that explain one paper make {count(len(studies), 'claim')}. Each "
                    "became a study, with the rule that decides it fixed before the first run.")
    return TemplatePicture("bibliography", {
        "paper": ORIGINAL, "address": ORIGINAL.address.removeprefix("https://"), "texts": list(TEXTS.values()),
        "introduction": introduction,
    }, alt="the texts whose claims are tried")


# The article's own table


def article_table(recipe: article.Recipe | None, problem: str = "") -> TemplatePicture:
    rows = [{"name": line.name, "plain": line.plain, "flips": line.flips,
             "ours_plain": line.ours(recipe.plain) if recipe else NOTHING,
             "ours_flips": line.ours(recipe.flips) if recipe else NOTHING} for line in article.REPORTED]
    return TemplatePicture("article_table", {"rows": rows, "note": _note(recipe, problem)},
                           alt="the article's figures beside ours")


def _note(recipe: article.Recipe | None, problem: str) -> str:
    if recipe is None:
        return problem or (f"{NOTHING} Not recorded yet: the same recipe takes hours on a CPU. {THEIRS} python -m "
                           "vit.studies.article records ours.")
    both = {"Without flips": recipe.plain, "with flips": recipe.flips}
    ended = "; ".join(f"{name} {_how_it_ended(run)}" for name, run in both.items())
    return f"{ended}. {THEIRS} Ours: {how_made(recipe.made)}"


def _how_it_ended(run: article.Recorded) -> str:
    epochs = count(len(run.epochs), "epoch")
    if run.stopped == article.NOT_YET:
        return f"it is not done: {epochs} of at most {run.most_epochs} so far"
    if run.stopped == article.EARLY:
        return f"early stopping ended it after {epochs}"
    return f"it ran all {epochs}"


# One claim


def head(study: Study | Computation, told: Told) -> TemplatePicture:
    sections: dict[str, list[str]] = {}
    for place in study.places:
        sections.setdefault(TEXTS[place.text].title, []).append(f"“{place.section}”")
    places = [{"title": title, "sections": " and ".join(named)} for title, named in sections.items()]
    return TemplatePicture("claim_head", {
        "verdict": told.verdict, "kind": BADGES[told.verdict], "sentence": told.sentence, "places": places,
    }, alt=f"the claim {told.verdict}")


def findings(study: Study, found: Sequence[Finding]) -> TemplatePicture:
    """What each rule found in each setting, and in words what it asks for."""
    rows = [
        {"setting": finding.setting, "sentence": words.finding_in_words(rule, finding), "rule": rule.in_words(),
         "visible": words.could_have_seen(rule, finding), "verdict": finding.verdict,
         "kind": BADGES[finding.verdict], "decides": rule.decides}
        for finding in found for rule in [study.rules[finding.rule]]
    ]
    return TemplatePicture("findings", {"rows": rows}, alt="what each rule found in each setting")


def planned(study: Study) -> TemplatePicture:
    """What would be run, and how it would be decided, for a study without a result."""
    rows = [{"setting": setting.name, "arms": " · ".join(arm.name for arm in study.arms), "seeds": setting.seeds,
             "seconds": f"about {duration(setting.seconds)}"} for setting in study.settings]
    rules = [": ".join(filter(None, (", ".join(rule.settings), rule.in_words())))
             for rule in study.rules if rule.decides]
    return TemplatePicture("claim_plan", {"rows": rows, "rules": rules}, alt="what would be run, and how it is decided")


def figures(study: Computation, found: Mapping[str, float]) -> TemplatePicture:
    rows = [{"name": name, "value": f"{value:,.0f}" if value.is_integer() else number(value)}
            for name, value in found.items()]
    return TemplatePicture("figures", {"rows": rows, "rule": study.rule}, alt="the figures behind the verdict")


def in_words(study: Study | Computation, result: Result | None) -> TemplatePicture:
    """What it means, what it does not show, and how it was made."""
    meaning = MEANINGS[study.id]
    return TemplatePicture("claim_words", {
        "why": meaning.why, "meaning": meaning.of(result.verdict) if result else "", "caution": study.caution,
        "made": how_made(result.made) if result else "",
    }, alt="what it means")


def how_made(made: Made) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in made.versions.items())
    training = f"{duration(made.seconds)} of training in all, on" if made.seconds else "On"
    commit = made.commit if " " in made.commit else made.commit[:COMMIT]
    return f"{training} {made.processor} with {count(made.cores, 'core')}; {versions}; code as of {commit}."


def progress(told: str, done: float) -> TemplatePicture:
    """How far a visitor's runs are, all together."""
    share = min(1.0, max(0.0, done))
    return TemplatePicture("series_progress", {"words": told, "percent": round(100 * share, 1)},
                           alt=f"{share:.0%} of these runs is done")
