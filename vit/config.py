"""The shape of a model and the settings of a run, as values that check themselves, and those that have a name here."""

from dataclasses import dataclass
from math import isfinite, isqrt

from vit.datasets import DATASETS, NORMALISATION, VALIDATION_IMAGES, Normalisation

VARIANTS = ("paper", "post-norm", "mean-pooling", "no-positions", "sine-positions", "no-scaling", "causal",
            "causal-last", "no-residuals", "tanh-gelu", "eps-1e-12", "pixels-0-1", "cnn")  # vit/variants.py has them
LARGEST_WHOLE = 2**63 - 1  # that torch takes, for a seed or a size

MOST_DEPTH, MOST_UNITS = 200, 16_384  # each block and each hidden unit has a place on the pages


@dataclass(frozen=True)
class ViTConfig:
    """The shape of a Vision Transformer. The letters are those of the paper."""

    image_size: int = 28  # H = W
    patch_size: int = 4  # P
    channels: int = 1  # C
    classes: int = 10
    width: int = 128  # D
    depth: int = 10  # L
    heads: int = 16  # h
    mlp_ratio: float = 4.0
    dropout: float = 0.0
    variant: str = "paper"  # what is different from the paper

    def __post_init__(self) -> None:
        for name in ("image_size", "patch_size", "channels", "classes", "width", "depth", "heads"):
            check_whole(name, getattr(self, name), least=1)
        if self.image_size % self.patch_size:
            fitting = ", ".join(str(p) for p in range(1, min(self.image_size, 1000) + 1) if self.image_size % p == 0)
            raise ValueError(
                f"An image of {self.image_size} pixels cannot be cut into patches of {self.patch_size}. "
                f"Patch sizes that fit: {fitting}."
            )
        if self.width % self.heads:
            fitting = ", ".join(str(h) for h in range(1, min(self.width, 1000) + 1) if self.width % h == 0)
            raise ValueError(
                f"A width of {self.width} cannot be shared evenly by {self.heads} heads. "
                f"Numbers of heads that fit: {fitting}."
            )
        if self.depth > MOST_DEPTH:
            raise ValueError(f"depth must be at most {MOST_DEPTH} blocks, not {self.depth:,}.")
        if self.channels not in (1, 3):
            raise ValueError(f"channels must be 1 (grey) or 3 (colour), not {self.channels}.")
        if not is_number(self.mlp_ratio) or self.width * self.mlp_ratio < 1:
            raise ValueError(f"mlp_ratio must give the MLP at least one unit; {self.mlp_ratio!r} does not.")
        if not isfinite(self.width * self.mlp_ratio):
            raise ValueError(f"mlp_ratio must give the MLP a finite number of units; {self.mlp_ratio!r} does not.")
        if self.mlp_width > MOST_UNITS:
            raise ValueError(f"mlp_ratio must give the MLP at most {MOST_UNITS:,} units; {self.mlp_ratio!r} gives "
                             f"{self.mlp_width:,}.")
        if self.variant not in VARIANTS:
            raise ValueError(f"variant must be one of {', '.join(VARIANTS)}, not {self.variant!r}.")
        if not is_number(self.dropout) or not 0 <= self.dropout < 1:
            raise ValueError(f"dropout must be at least 0 and below 1, not {self.dropout!r}.")

    @property
    def grid(self) -> int:
        """Patches along one side of the image: H/P."""
        return self.image_size // self.patch_size

    @property
    def patches(self) -> int:
        """N = (H/P)·(W/P)."""
        return self.grid**2

    @property
    def tokens(self) -> int:
        """N + 1: the patches, and CLS before them."""
        return self.patches + 1

    @property
    def patch_values(self) -> int:
        """P²·C: how many numbers a flattened patch has."""
        return self.patch_size**2 * self.channels

    @property
    def head_width(self) -> int:
        """d_k = D/h."""
        return self.width // self.heads

    @property
    def mlp_width(self) -> int:
        return int(self.width * self.mlp_ratio)

    @property
    def normalisation(self) -> Normalisation:
        """Of what the model reads, unless its weights came with another."""
        return NORMALISATION[self.channels]

    @property
    def parameters(self) -> int:
        """How many numbers the weights of the model are, by the closed form.

        Variants keep the paper's, also where they leave some of them as they are; the CNN has about as many.
        """
        if self.variant == "cnn":
            return self._cnn_parameters(self.cnn_width)
        return self._paper_parameters

    @property
    def cnn_width(self) -> int:
        """Filters of the CNN's first layer: the most with which it has no more weights than the paper's model."""
        # 90 w² + b w + classes = the paper's number
        b = 9 * self.channels + 7 + 4 * self.classes
        root = isqrt(b * b + 4 * 90 * (self._paper_parameters - self.classes))
        return max(1, (root - b) // (2 * 90))

    def _cnn_parameters(self, w: int) -> int:
        filters = 9 * self.channels * w + w + 9 * w * 2 * w + 2 * w + 9 * 2 * w * 4 * w + 4 * w
        return filters + 4 * w * self.classes + self.classes

    @property
    def attention_parameters(self) -> int:
        """Of all blocks: W_q, W_k, W_v and the output projection."""
        return self.depth * 4 * (self.width * self.width + self.width)

    @property
    def mlp_parameters(self) -> int:
        D, M = self.width, self.mlp_width
        return self.depth * (D * M + M + M * D + D)

    @property
    def _paper_parameters(self) -> int:
        D = self.width
        embedding = self.patch_values * D + D + D + self.tokens * D  # E, its bias, CLS, positions
        norms = self.depth * 2 * 2 * D + 2 * D
        return embedding + self.attention_parameters + self.mlp_parameters + norms + D * self.classes + self.classes


def check_whole(name: str, value: object, least: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, not {value!r}.")
    if value > LARGEST_WHOLE:
        raise ValueError(f"{name} must be at most {LARGEST_WHOLE:,}; what was asked for has {len(str(value))} digits.")


def is_number(value: object) -> bool:
    """A finite number, of a size that a float can hold."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= 1.7e308


PRESETS: dict[str, ViTConfig] = {
    "article": ViTConfig(),
    "tiny": ViTConfig(depth=6, heads=4),
    "cifar": ViTConfig(image_size=32, channels=3, depth=6, heads=4),
    "quick": ViTConfig(patch_size=7, width=64, depth=3, heads=4, mlp_ratio=2.0),
    "base": ViTConfig(
        image_size=224, patch_size=16, channels=3, classes=1000, width=768, depth=12, heads=12
    ),
}

MOMENTS = {"adamw": 2, "rmsprop": 1}  # what each optimizer remembers of a weight
OPTIMIZERS = tuple(MOMENTS)
SCHEDULES = ("constant", "cosine", "plateau")
INITIALISATIONS = ("trunc-normal", "pytorch", "pytorch-randn", "unit-normal")
AUGMENTATIONS = ("none", "flips", "alternating-flips", "shifts-and-turns")
MOST_EPOCHS = 1_000
MOST_MEMORY = 8e9  # bytes, for one twin
CHECKPOINTS_KEPT = 20  # of one run
NUMBER = 4  # bytes of a float32
PROCESS_MEMORY = 350e6  # Python, torch and what they keep for later
FRAGMENTED = 1.4  # what is freed in small pieces is kept for the next step (vit/process.py), and not all of it fits
LITTLE_MEMORY = 100e6
LARGEST_CHUNK = 200  # small, so that whoever listens can step in soon


@dataclass(frozen=True)
class TrainConfig:
    """All that decides how a run goes. The same values and the same seed give the same run again."""

    model: ViTConfig = PRESETS["article"]
    dataset: str = "mnist"
    train_images: int | None = None  # None takes all that there are
    flips: bool = False  # mirror half of the training images, drawn anew in each epoch
    augmentation: str = "none"  # what else is done to them; its "flips" is the same as the above
    seed: int = 0
    epochs: int = 10
    batch_size: int = 64
    optimizer: str = "adamw"
    learning_rate: float = 1e-3
    weight_decay: float = 0.05
    warmup_steps: int = 100  # the learning rate grows from 0 over so many steps
    schedule: str = "cosine"  # what the learning rate does then
    stop_patience: int | None = None  # stop after so many epochs without a better validation loss
    initialisation: str = "trunc-normal"
    clip_norm: float | None = 1.0
    report_every: int = 10  # steps
    validate_every: int = 100  # steps between looks at a part of the validation images
    validation_images: int = 1000  # how large that part is; the end of an epoch always takes all
    compile: bool = False

    def __post_init__(self) -> None:
        self._check_numbers()
        for name, choices in (("dataset", tuple(DATASETS)), ("optimizer", OPTIMIZERS),
                              ("schedule", SCHEDULES), ("initialisation", INITIALISATIONS),
                              ("augmentation", AUGMENTATIONS)):
            if getattr(self, name) not in choices:
                raise ValueError(f"{name} must be one of {', '.join(choices)}, not {getattr(self, name)!r}.")
        for name in ("flips", "compile"):
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"{name} must be true or false, not {getattr(self, name)!r}.")
        if self.flips and self.augmentation != "none":
            raise ValueError(f"flips and augmentation are two ways to say what is done to the images: "
                             f"ask for flips, or for {self.augmentation}, not for both.")
        dataset = DATASETS[self.dataset]
        if (self.model.image_size, self.model.channels) != (dataset.image_size, dataset.channels):
            raise ValueError(
                f"The images of {self.dataset} have {dataset.image_size} pixels a side and {dataset.channels} "
                f"channels; the model reads {self.model.image_size} and {self.model.channels}."
            )
        self._check_size()

    def _check_numbers(self) -> None:
        whole = {"epochs": 1, "batch_size": 1, "report_every": 1, "validate_every": 1,
                 "validation_images": 10, "warmup_steps": 0, "seed": 0}
        whole |= {name: 10 for name in ("train_images",) if getattr(self, name) is not None}
        whole |= {name: 1 for name in ("stop_patience",) if getattr(self, name) is not None}
        for name, least in whole.items():
            check_whole(name, getattr(self, name), least)
        for name in ("learning_rate", "weight_decay") + (("clip_norm",) if self.clip_norm is not None else ()):
            if not is_number(getattr(self, name)):
                raise ValueError(f"{name} must be a number, not {getattr(self, name)!r}.")
        if not 0 < self.learning_rate <= 1:
            raise ValueError(f"learning_rate must be above 0 and at most 1, not {self.learning_rate!r}.")
        if not 0 <= self.weight_decay <= 1:
            raise ValueError(f"weight_decay must be between 0 and 1, not {self.weight_decay!r}.")
        if self.clip_norm is not None and not self.clip_norm > 0:
            raise ValueError(f"clip_norm must be above 0, or None for no clipping, not {self.clip_norm!r}.")
        if self.epochs > MOST_EPOCHS:
            raise ValueError(f"epochs must be at most {MOST_EPOCHS:,}, not {self.epochs:,}.")

    def _check_size(self) -> None:
        there_are = DATASETS[self.dataset].train_images
        if self.batch_size > there_are:
            raise ValueError(f"batch_size must be at most the {there_are:,} images that there are to learn from, "
                             f"not {self.batch_size:,}.")
        if self.memory > MOST_MEMORY:
            raise ValueError(
                f"To train this would take about {self.memory / 1e9:,.0f} GB of memory for each twin, and "
                f"{MOST_MEMORY / 1e9:.0f} GB is the most. A smaller width, depth, MLP or batch size would do."
            )

    @property
    def mirrors(self) -> bool:
        """Whether images are mirrored in training, by chance or in turns."""
        return self.flips or self.augmentation in ("flips", "alternating-flips")

    @property
    def images_per_epoch(self) -> int:
        there_are = DATASETS[self.dataset].train_images
        return min(self.train_images or there_are, there_are)

    @property
    def steps(self) -> int:
        """How many there are in all epochs."""
        return self.epochs * -(-self.images_per_epoch // self.batch_size)

    # What a run takes, in bytes

    @property
    def memory(self) -> float:
        """Of one worker at its peak: 0.9 to 1.4 of the real one for nine shapes, from thin and deep to wide."""
        weights = (2 + MOMENTS[self.optimizer]) * NUMBER * self.model.parameters  # each with its gradient
        judging = self.validation_chunk * self._judging_an_image
        at_work = max(FRAGMENTED * self._batch_memory + min(judging, LITTLE_MEMORY), judging)
        return PROCESS_MEMORY + self._data_memory + weights + at_work

    @property
    def disk(self) -> float:
        """Of one run folder at its end, roughly: the weights that are kept, the state to go on from, the metrics."""
        kept = min(self.epochs, CHECKPOINTS_KEPT) + 1
        lines = 200 * self.steps / self.report_every
        glances = (self.validation_images + 700) * self.steps / self.validate_every
        verdicts = (VALIDATION_IMAGES + 700) * self.epochs
        return kept * self.checkpoint_size + self.state_size + lines + glances + verdicts

    @property
    def checkpoint_size(self) -> int:
        return NUMBER * self.model.parameters

    @property
    def state_size(self) -> int:
        """Of what a run goes on from: the weights, and what the optimizer remembers of each."""
        return (1 + MOMENTS[self.optimizer]) * NUMBER * self.model.parameters

    @property
    def validation_chunk(self) -> int:
        """How many images are judged at a time: few enough to need no more memory than learning, or very little."""
        room = max(self._batch_memory, LITTLE_MEMORY)
        return max(1, min(LARGEST_CHUNK, int(room / self._judging_an_image)))

    @property
    def _data_memory(self) -> float:
        """While a data set is loaded, it is there as it was read, and cut into its splits."""
        dataset = DATASETS[self.dataset]
        images = dataset.train_images + VALIDATION_IMAGES
        return 2.0 * images * dataset.image_size**2 * dataset.channels

    @property
    def _batch_memory(self) -> float:
        """What a forward pass leaves for the backward pass, in all blocks, and what that needs in one of them."""
        m = self.model
        kept = 8 * m.width + 2 * m.mlp_width + m.heads * m.tokens  # for one token in one block
        if m.dropout:
            kept += 2 * m.width + m.mlp_width
        at_work = max(2 * m.heads * m.tokens, 2 * m.mlp_width) + 2 * m.width
        # The last block works for CLS alone, but for keys and values.
        last = 3 * m.width + (kept + at_work) / m.tokens
        pixels = 4 * m.image_size**2 * m.channels
        per_image = m.tokens * ((m.depth - 1) * kept + (at_work if m.depth > 1 else 0) + last) + pixels
        return NUMBER * self.batch_size * per_image

    @property
    def _judging_an_image(self) -> float:
        """Nothing is kept: scores and pattern of one block, or its MLP, and a few vectors for each token."""
        m = self.model
        at_work = max(2 * m.heads * m.tokens, 2 * m.mlp_width) + 6 * m.width
        return NUMBER * (m.tokens * at_work + 4 * m.image_size**2 * m.channels)

    @classmethod
    def from_dict(cls, values: dict) -> "TrainConfig":
        """Back from what dataclasses.asdict made of it."""
        return cls(**{**values, "model": ViTConfig(**values["model"])})


TRAINING_PRESETS: dict[str, TrainConfig] = {
    "quick": TrainConfig(
        model=PRESETS["quick"], epochs=4, train_images=25_000, learning_rate=3e-3, initialisation="pytorch-randn",
    ),
    "tiny": TrainConfig(model=PRESETS["tiny"], epochs=5, learning_rate=1e-3, warmup_steps=500),
    "article": TrainConfig(
        model=PRESETS["article"], epochs=50, batch_size=32, optimizer="rmsprop", learning_rate=1e-5,
        weight_decay=0.0, warmup_steps=0, schedule="plateau", stop_patience=5, clip_norm=None,
        validate_every=200,
    ),
}
