"""What a study is: a claim, what is compared to try it, and the rule that decides, fixed before any run."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace

from vit.config import TrainConfig, ViTConfig
from vit.studies.statistics import Estimate, estimate, paired_differences

HOLDS, IN_PART = "holds", "holds in part"
DOES_NOT, CANNOT_TELL = "does not hold here", "cannot be told"
VERDICTS = (HOLDS, IN_PART, DOES_NOT, CANNOT_TELL)

Values = Mapping[str, Mapping[int, float]]  # of one measure in one setting: arm to seed to value
Lookup = Callable[[str], Values]  # the values of a measure


@dataclass(frozen=True)
class Text:
    """One of the texts whose claims are tried."""

    file: str
    title: str
    name: str  # how it is called in short
    about: str


TEXTS: dict[str, Text] = {
    "000": Text("000_03ae29e2e3956238.txt",
                "Replicating the Vision Transformer (ViT) on MNIST: A Mathematical Deep Dive with PyTorch",
                "the article", "trains ten blocks on MNIST, without flips and with them; this project follows it"),
    "001": Text("001_afa67c7606a89c20.txt", "Deconstructing ViTs from Scratch, Part 2: PyTorch Implementation",
                "the tutorial", "builds a ViT of six blocks for CIFAR-10 by hand"),
    "002": Text("002_6b96f0a8865642bc.txt", "Vision Transformer (ViT) Notes",
                "the notes", "learning notes on ViTs beside CNNs, and why they want much data"),
    "003": Text("003_6df5cc3bbf287394.txt", "Vision Transformer (ViT) from Scratch",
                "the case study", "derives the paper again, to see what attention does without convolutions"),
    "004": Text("004_8c9ed0a9d89c17d0.txt", "vision transformers (notes on the paper)",
                "the jottings", "a page of jottings, with GPT for comparison"),
}


@dataclass(frozen=True)
class Paper:
    """What all texts are about."""

    title: str
    authors: str
    address: str


ORIGINAL = Paper("An Image is Worth 16x16 Words: Transformers for Image Recognition at Scale",
                 "Dosovitskiy and others, 2020", "https://arxiv.org/abs/2010.11929")


@dataclass(frozen=True)
class Place:
    """Where a claim stands."""

    text: str  # a key of TEXTS
    section: str


@dataclass(frozen=True)
class Arm:
    """One side of a comparison: what it changes in the setting's config. `model.depth` is the depth of its model."""

    name: str
    changes: Mapping[str, object] = field(default_factory=dict)

    def of(self, base: TrainConfig) -> TrainConfig:
        ours = {name: value for name, value in self.changes.items() if not name.startswith("model.")}
        of_model = {name.removeprefix("model."): value for name, value in self.changes.items()
                    if name.startswith("model.")}
        return replace(base, model=replace(base.model, **of_model), **ours)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Setting:
    """Under which circumstances the arms are compared, and about how many seconds a run of one core takes there."""

    name: str
    base: TrainConfig
    seconds: float
    seeds: int


# How a study is decided


@dataclass(frozen=True)
class Judgement:
    """What a rule makes of one setting: the value of each seed, their estimate, and the verdict."""

    values: dict[int, float]
    estimate: Estimate
    verdict: str


@dataclass(frozen=True, kw_only=True)
class Rule(ABC):
    """Decides in one setting, by a measure of one arm or of two."""

    measure: str = "accuracy"
    settings: tuple[str, ...] = ()  # where it is applied; everywhere if it names none
    decides: bool = True  # whether the study's verdict hangs on it; otherwise it is shown for what it is worth

    @property
    @abstractmethod
    def arms(self) -> tuple[str, ...]: ...

    @abstractmethod
    def in_words(self) -> str: ...

    @abstractmethod
    def values(self, measured: Values) -> dict[int, float]:
        """What is judged, seed by seed."""

    @abstractmethod
    def verdict(self, found: Estimate) -> str: ...

    def judge(self, lookup: Lookup) -> Judgement:
        values = self.values(lookup(self.measure))
        found = estimate(list(values.values()))
        return Judgement(values, found, self.verdict(found))


@dataclass(frozen=True, kw_only=True)
class OfTwoArms(Rule):
    """Judges by the first minus the second, paired by seed."""

    first: str
    second: str
    margin: float

    @property
    def arms(self) -> tuple[str, ...]:
        return self.first, self.second

    def values(self, measured: Values) -> dict[int, float]:
        return paired_differences(measured.get(self.first, {}), measured.get(self.second, {}))


@dataclass(frozen=True, kw_only=True)
class OfOneArm(Rule):
    arm: str

    @property
    def arms(self) -> tuple[str, ...]:
        return (self.arm,)

    def values(self, measured: Values) -> dict[int, float]:
        return dict(sorted(measured.get(self.arm, {}).items()))


@dataclass(frozen=True, kw_only=True)
class Above(OfTwoArms):
    """One arm is better than another by more than a margin."""

    visible: float  # if there is nothing to see, an effect of this size should have been seen

    def in_words(self) -> str:
        return (
            f"{self.measure} of “{self.first}” minus that of “{self.second}”, paired by seed: holds if the 95 % "
            f"interval lies above {self.margin:g}; holds in part if it lies above 0 only; does not hold here if it "
            f"lies below {self.margin:g}, or takes in 0 while an effect of {self.visible:g} would have been seen; "
            "cannot be told otherwise."
        )

    def verdict(self, found: Estimate) -> str:
        if not found.certain:
            return CANNOT_TELL
        if found.low > self.margin:
            return HOLDS
        if found.low > 0:
            return IN_PART
        nothing_seen = found.high >= 0 and found.visible <= self.visible
        return DOES_NOT if found.high < self.margin or nothing_seen else CANNOT_TELL


@dataclass(frozen=True, kw_only=True)
class NoWorse(OfTwoArms):
    """One arm is not worse than another, but for a margin that does not matter."""

    def in_words(self) -> str:
        return (
            f"{self.measure} of “{self.first}” minus that of “{self.second}”, paired by seed: holds if the 95 % "
            f"interval lies above −{self.margin:g}; in part, if it lies between that and 0; does not hold here if it "
            f"lies below −{self.margin:g}; cannot be told otherwise."
        )

    def verdict(self, found: Estimate) -> str:
        if not found.certain:
            return CANNOT_TELL
        if found.low > -self.margin:
            return IN_PART if found.high < 0 else HOLDS
        return DOES_NOT if found.high < -self.margin else CANNOT_TELL


@dataclass(frozen=True, kw_only=True)
class Between(OfOneArm):
    """A measure of one arm lies in a range."""

    low: float
    high: float

    def in_words(self) -> str:
        return (
            f"{self.measure} of “{self.arm}”: holds if the 95 % interval of its mean lies between {self.low:g} and "
            f"{self.high:g}; does not hold here if it lies outside; cannot be told otherwise."
        )

    def verdict(self, found: Estimate) -> str:
        if not found.certain:
            return CANNOT_TELL
        if self.low <= found.low and found.high <= self.high:
            return HOLDS
        return DOES_NOT if found.high < self.low or found.low > self.high else CANNOT_TELL


@dataclass(frozen=True, kw_only=True)
class Near(OfOneArm):
    """A measure of one arm comes out close to a figure that somebody reports."""

    figure: float
    within: float

    def in_words(self) -> str:
        return (
            f"{self.measure} of “{self.arm}”: holds if the mean of at least two seeds is within {self.within:g} of "
            f"{self.figure:g}; does not hold here otherwise."
        )

    def verdict(self, found: Estimate) -> str:
        if not found.certain:
            return CANNOT_TELL
        return HOLDS if abs(found.mean - self.figure) <= self.within else DOES_NOT


def all_of(verdicts: list[str]) -> str:
    """Of a claim that says something of several things: it holds where all hold, and in part where some do."""
    if not verdicts:
        return CANNOT_TELL
    if all(verdict == HOLDS for verdict in verdicts):
        return HOLDS
    if any(verdict in (HOLDS, IN_PART) for verdict in verdicts):
        return IN_PART
    return DOES_NOT if DOES_NOT in verdicts else CANNOT_TELL


def any_arm_of(verdicts: dict[str, list[str]]) -> str:
    """Of a search: it holds if all that is asked for holds of one arm."""
    of_arms = [all_of(found) for found in verdicts.values()]
    best = [verdict for verdict in VERDICTS if verdict in of_arms]
    return best[0] if best else CANNOT_TELL


# Studies


@dataclass(frozen=True, kw_only=True)
class Study:
    """A claim that is tried by training."""

    number: int
    id: str
    title: str
    claim: str  # in our own words
    places: tuple[Place, ...]
    settings: tuple[Setting, ...]
    arms: tuple[Arm, ...]
    rules: tuple[Rule, ...]
    readings: tuple[str, ...] = ()  # what is read off the weights when a run is done
    search: bool = False  # it is enough that one arm does what the rules ask
    alone: bool = False  # runs are timed, so that nothing may run beside them
    caution: str = ""  # what it does not tell

    def rules_in(self, setting: str) -> tuple[Rule, ...]:
        return tuple(rule for rule in self.rules if not rule.settings or setting in rule.settings)

    @property
    def seconds(self) -> float:
        """Of one core, for all runs."""
        return sum(setting.seconds * setting.seeds * len(self.arms) for setting in self.settings)


@dataclass(frozen=True)
class Computed:
    figures: dict[str, float]
    verdict: str


@dataclass(frozen=True, kw_only=True)
class Computation:
    """A claim that can be checked without a run, from what is shipped."""

    number: int
    id: str
    title: str
    claim: str
    places: tuple[Place, ...]
    rule: str  # in words
    compute: Callable[[], Computed]
    caution: str = ""

    @property
    def seconds(self) -> float:
        return 60.0


def differences(arms: tuple[Arm, ...], base: TrainConfig) -> set[str]:
    """In which settings the arms differ from each other."""
    configs = [arm.of(base) for arm in arms]
    ours = {f.name for f in fields(TrainConfig) if f.name != "model" and _vary(configs, f.name)}
    models = [config.model for config in configs]
    return ours | {f"model.{f.name}" for f in fields(ViTConfig) if _vary(models, f.name)}


def _vary(values: list[TrainConfig] | list[ViTConfig], name: str) -> bool:
    return any(getattr(value, name) != getattr(values[0], name) for value in values)
