"""The shape of a model and the settings of a run, as values that check themselves, and those that have a name here."""

from dataclasses import dataclass
from math import isfinite

from vit.datasets import DATASETS


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

    def __post_init__(self):
        for name in ("image_size", "patch_size", "channels", "classes", "width", "depth", "heads"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ValueError(f"{name} must be a whole number of at least 1, not {value!r}.")
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
        if self.channels not in (1, 3):
            raise ValueError(f"channels must be 1 (grey) or 3 (colour), not {self.channels}.")
        if not is_number(self.mlp_ratio) or self.width * self.mlp_ratio < 1:
            raise ValueError(f"mlp_ratio must give the MLP at least one unit; {self.mlp_ratio!r} does not.")
        if not isfinite(self.width * self.mlp_ratio):
            raise ValueError(f"mlp_ratio must give the MLP a finite number of units; {self.mlp_ratio!r} does not.")
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
    def parameters(self) -> int:
        """How many numbers training has to find, by the closed form."""
        D, M = self.width, self.mlp_width
        embedding = self.patch_values * D + D + D + self.tokens * D  # E, its bias, CLS, positions
        attention = 4 * (D * D + D)  # W_q, W_k, W_v and the output projection
        mlp = D * M + M + M * D + D
        norms = 2 * 2 * D
        return embedding + self.depth * (attention + mlp + norms) + 2 * D + D * self.classes + self.classes


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


PRESETS: dict[str, ViTConfig] = {
    "article": ViTConfig(),
    "tiny": ViTConfig(depth=6, heads=4),
    "cifar": ViTConfig(image_size=32, channels=3, depth=6, heads=4),
    "quick": ViTConfig(patch_size=7, width=64, depth=3, heads=4, mlp_ratio=2.0),
    "base": ViTConfig(
        image_size=224, patch_size=16, channels=3, classes=1000, width=768, depth=12, heads=12
    ),
}

OPTIMIZERS = ("adamw", "rmsprop")
SCHEDULES = ("constant", "cosine", "plateau")
INITIALISATIONS = ("trunc-normal", "pytorch", "pytorch-randn")
MOST_MEMORY = 8e9  # bytes, for one twin


@dataclass(frozen=True)
class TrainConfig:
    """All that decides how a run goes. The same values and the same seed give the same run again."""

    model: ViTConfig = PRESETS["article"]
    dataset: str = "mnist"
    train_images: int | None = None  # None takes all that there are
    flips: bool = False  # mirror half of the training images, drawn anew in each epoch
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

    def __post_init__(self):
        self._check_numbers()
        for name, choices in (("dataset", tuple(DATASETS)), ("optimizer", OPTIMIZERS),
                              ("schedule", SCHEDULES), ("initialisation", INITIALISATIONS)):
            if getattr(self, name) not in choices:
                raise ValueError(f"{name} must be one of {', '.join(choices)}, not {getattr(self, name)!r}.")
        dataset = DATASETS[self.dataset]
        if (self.model.image_size, self.model.channels) != (dataset.image_size, dataset.channels):
            raise ValueError(
                f"The images of {self.dataset} have {dataset.image_size} pixels a side and {dataset.channels} "
                f"channels; the model reads {self.model.image_size} and {self.model.channels}."
            )
        if self.memory > MOST_MEMORY:
            raise ValueError(
                f"To train this would take about {self.memory / 1e9:,.0f} GB of memory for each twin, and "
                f"{MOST_MEMORY / 1e9:.0f} GB is the most. A smaller width, depth, MLP or batch size would do."
            )

    def _check_numbers(self):
        whole = {"epochs": 1, "batch_size": 1, "report_every": 1, "validate_every": 1,
                 "validation_images": 10, "warmup_steps": 0, "seed": 0}
        whole |= {name: 10 for name in ("train_images",) if getattr(self, name) is not None}
        whole |= {name: 1 for name in ("stop_patience",) if getattr(self, name) is not None}
        for name, least in whole.items():
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise ValueError(f"{name} must be a whole number of at least {least}, not {value!r}.")
        if not 0 < self.learning_rate <= 1:
            raise ValueError(f"learning_rate must be above 0 and at most 1, not {self.learning_rate!r}.")
        if not 0 <= self.weight_decay <= 1:
            raise ValueError(f"weight_decay must be between 0 and 1, not {self.weight_decay!r}.")
        if self.clip_norm is not None and not self.clip_norm > 0:
            raise ValueError(f"clip_norm must be above 0, or None for no clipping, not {self.clip_norm!r}.")

    @property
    def images_per_epoch(self) -> int:
        there_are = DATASETS[self.dataset].train_images
        return min(self.train_images or there_are, there_are)

    @property
    def memory(self) -> float:
        """Roughly, in bytes: each weight with its gradient and two moments, and what a batch leaves behind."""
        model = self.model
        per_token = 16 * model.width + 3 * model.mlp_width + 2 * model.heads * model.tokens  # numbers, in each block
        return 4.0 * (4 * model.parameters + self.batch_size * model.tokens * model.depth * per_token)

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
