"""What twins can be asked: two arms that differ in one thing, and the sentences that tell what came out.

The arms are those of the catalogue's studies where there are such, so that a visitor's twins try what a claim says.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from vit.compare import Gap, in_words
from vit.config import TrainConfig
from vit.datasets import DATASETS
from vit.numbers import with_sign
from vit.studies.catalogue import CATALOGUE
from vit.studies.study import Arm, Study

OTHER_WEIGHTS = ("cnn", "no-positions", "sine-positions")  # the other variants begin with the paper's


@dataclass(frozen=True)
class Question:
    """The first arm is what the second is compared with."""

    id: str
    title: str
    first: Arm
    second: Arm
    differs: str  # in what, as a sentence
    first_ahead: str  # the finding, if it is; {thing} is what the images show
    second_ahead: str
    study: str = ""  # in which the same is tried with many seeds
    needs: Mapping[str, object] = field(default_factory=dict)  # settings without which the arms would be the same

    @property
    def names(self) -> tuple[str, str]:
        return self.first.name, self.second.name

    def arms(self, base: TrainConfig) -> dict[str, TrainConfig]:
        """The settings of both twins. Raises ValueError with a sentence if they would be the same, or cannot be."""
        base = Arm("", {name: value for name, value in self.needs.items() if not getattr(base, name)}).of(base)
        found = {arm.name: arm.of(base) for arm in (self.first, self.second)}
        if len(found) < 2 or found[self.first.name] == found[self.second.name]:
            raise ValueError("Both twins would be the same: let the second differ from the first.")
        return found

    def lesson(self, gap: Gap | None, dataset: str = "mnist", training: bool = False) -> str:
        """The finding in a sentence, or why there is none."""
        if gap is None:
            then = "Their first results come in a few seconds." if training else "There are no results to compare yet."
            return f"{self.beginning} {then}"
        points, low, high = (with_sign(value, 1) for value in (gap.points, gap.low, gap.high))
        measured = (f"{points} points (95 % sure: between {low} and {high}), on the same "
                    f"{gap.images:,} validation images {gap.when} with this seed")
        if not gap.clear:
            return f"Too close to tell yet. The gap is {measured}; it could be chance. Train longer to know."
        if gap.points > 0:
            finding = self.first_ahead.format(thing=DATASETS[dataset].thing)
            return f"{finding}: {called(self.first.name)} is ahead by {measured}."
        return f"{self.second_ahead}: {called(self.second.name)} is ahead. The gap is {measured}."

    @property
    def beginning(self) -> str:
        """What both have in common before their first step."""
        changed = {**self.first.changes, **self.second.changes}
        variant = changed.pop("model.variant", "")
        other = variant in OTHER_WEIGHTS or any(name == "initialisation" or "model." in name for name in changed)
        return "Both twins see the same images." if other else "Both twins start from the same weights."


def called(arm: str) -> str:
    """A twin by the name of its arm, in a sentence."""
    if arm.startswith(("with ", "without ")):
        return f"the twin {arm}"
    return f"the twin with {arm}" if " " in arm else f"the {arm}"


def brought_by(arm: str) -> str:
    """What comes with an arm, after a word such as change."""
    return arm if arm.startswith(("with ", "without ")) else f"with {arm}" if " " in arm else f"of the {arm}"


def like(study_id: str, arm: str, name: str) -> Arm:
    """An arm of a study, under a name that tells it from its twin."""
    study = CATALOGUE[study_id]
    assert isinstance(study, Study)
    return Arm(name, next(one.changes for one in study.arms if one.name == arm))


QUESTIONS: dict[str, Question] = {question.id: question for question in (
    Question(
        "flips", "Do flips hurt?", Arm("without flips"), Arm("with flips", {"flips": True}),
        "One of them sees half of the images mirrored.",
        "Flipping {thing}s hurts", "Flipping helps here", "flips-hurt",
    ),
    Question(
        "alternating-flips", "Do alternating flips hurt less?", like("flips-hurt", "random flips", "random flips"),
        like("flips-hurt", "alternating flips", "alternating flips"),
        "Both see half of the images mirrored: one by chance, the other each image in every second epoch.",
        "Alternating is worse than chance", "Alternating is better than chance", "flips-hurt",
    ),
    Question(
        "shifts-and-turns", "Do small shifts and turns help?", like("no-augmentation", "none", "without shifts"),
        like("no-augmentation", "small shifts and turns", "with shifts and turns"),
        "One of them sees each image moved by up to two pixels and turned by up to ten degrees.",
        "Shifts and turns do not pay yet", "Shifts and turns help", "no-augmentation",
    ),
    Question(
        "warm-up", "Does it take warm-up?", like("warm-up", "with warm-up", "with warm-up"),
        like("warm-up", "without", "without warm-up"),
        "One of them begins with small steps that grow, the other with full ones.",
        "Warm-up helps", "It goes better without warm-up here", "warm-up", {"warmup_steps": 100},
    ),
    Question(
        "cls-or-mean", "Does it need CLS?", like("cls-or-mean", "CLS", "with CLS"),
        like("cls-or-mean", "mean of the patches", "with the mean of all patches"),
        "One of them answers by what CLS has gathered, the other by the mean of all patches.",
        "CLS reads better", "The mean reads better than CLS", "cls-or-mean",
    ),
    Question(
        "positions", "Do positions matter?", like("positions", "learned", "with positions"),
        like("positions", "none", "without positions"),
        "One of them is told where each patch lies, the other is not.",
        "Positions help", "It reads better without positions here", "positions",
    ),
    Question(
        "sine-positions", "Do positions have to be learned?", like("positions", "learned", "with learned positions"),
        like("positions", "sines", "with sine positions"),
        "One of them learns its positions, the other gets sines and cosines that stay as they are.",
        "Learned positions are better", "Sines are better than learned positions here", "positions",
    ),
    Question(
        "scaling", "What does dividing by √d_k do?", like("scaling", "divided", "with scaling"),
        like("scaling", "not divided", "without scaling"),
        "One of them divides each score by √d_k before softmax, the other does not.",
        "Dividing by √d_k helps", "It reads better undivided here", "scaling",
    ),
    Question(
        "residuals", "What do residuals do?", like("residuals", "with residuals", "with residuals"),
        like("residuals", "without", "without residuals"),
        "In one of them each block adds to what is there, in the other it replaces it.",
        "Residuals help", "It reads better without residuals here", "residuals",
    ),
    Question(
        "norm", "LayerNorm before the sum, or after it?",
        like("norm-before-or-after", "before", "with LayerNorm before"),
        like("norm-before-or-after", "after", "with LayerNorm after"),
        "One of them normalises what goes into attention and MLP, the other the sum that comes out.",
        "LayerNorm before the sum is better", "LayerNorm after the sum is better here", "norm-before-or-after",
    ),
    Question(
        "causal", "What if it were masked as GPT is?", like("causal-mask", "no mask", "without a mask"),
        like("causal-mask", "causal, read from the last patch", "with a causal mask"),
        "In one of them every patch sees all others. In the other it sees those before it, and the last one answers.",
        "The mask hurts", "The mask helps here", "causal-mask",
    ),
    Question(
        "initialisation", "Does it matter where weights start?",
        Arm("with small weights", {"initialisation": "trunc-normal"}),
        like("initialisation", "N(0, 1)", "with N(0, 1) weights"),
        "One of them starts from a truncated normal of deviation 0.02, the other from N(0, 1).",
        "Small weights are the better start", "N(0, 1) is the better start here", "initialisation",
    ),
    Question(
        "pixels", "Do pixels have to be normalised?", like("first-two-epochs", "as stated", "with normalised pixels"),
        like("first-two-epochs", "pixels from 0 to 1", "with pixels from 0 to 1"),
        "One of them gets pixels with mean 0 and deviation 1, the other as they are, from 0 to 1.",
        "Normalising helps", "It reads better without normalising here", "first-two-epochs",
    ),
    Question(
        "cnn", "ViT or CNN?", like("small-data", "ViT", "ViT"), like("small-data", "CNN", "CNN"),
        "One of them is a ViT, the other a small CNN with about as many weights.",
        "The ViT reads better", "The CNN reads better", "small-data",
    ),
)}
DEFAULT = QUESTIONS["flips"]


def own(name: str, first: object, second: object, of_model: bool) -> Question:
    """Twins that differ in one knob."""
    knob, key = name.replace("_", " "), f"model.{name}" if of_model else name
    arms = [Arm(f"{knob} {in_words(name, value)}", {key: value}) for value in (first, second)]
    return Question(OWN, OWN_TITLE, arms[0], arms[1], f"They differ in one knob: {knob}.",
                    f"The {knob} matters", f"The {knob} matters")


OWN, OWN_TITLE = "own", "Your own: any knob"


def told_by(topic: str, arms: Sequence[str]) -> Question:
    """The question that two runs were made for; for those that are none of ours, one that goes by their names."""
    known = QUESTIONS.get(topic)
    if known and list(arms) == list(known.names):
        return known
    first, second = arms
    return Question(topic, topic, Arm(first), Arm(second), f"One of them is “{first}”, the other “{second}”.",
                    "There is a difference", "There is a difference")
