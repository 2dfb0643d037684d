"""How a model learns: train() is a generator of reports that knows no process, no page and no clock.

Nothing is drawn from a stream that has to be carried along. The initial weights depend on the seed alone,
the order of the images and who is mirrored on the seed and the epoch, dropout on the seed and the step.
So twins that differ only in flipping see the same images in the same order, and a run that goes on from
a snapshot takes exactly the steps that it would have taken.
"""

import math
from collections.abc import Callable, Generator, Iterator
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim.lr_scheduler import ReduceLROnPlateau

from vit import checkpoints, data
from vit.config import TrainConfig
from vit.measures import confusion
from vit.model import VisionTransformer
from vit.reports import End, Note, Report, StepReport, Validating, Validation
from vit.variants import SmallCNN, build

PLATEAU_FACTOR, PLATEAU_PATIENCE = 0.5, 5
SHIFTS, ALTERNATION = 2**31, 2**31 - 1  # where their draws begin among those of a seed; no run has so many steps
NO_NUMBER = "is no longer a number"


class Diverged(ArithmeticError):
    """Training left the numbers; the message says when, and what helps."""


@dataclass(frozen=True)
class Examples:
    """Images, uint8, with their labels: what a run learns from and is judged by."""

    train_images: np.ndarray
    train_labels: np.ndarray
    validation_images: np.ndarray
    validation_labels: np.ndarray
    glance: np.ndarray  # which validation images are looked at between epochs


def load_examples(config: TrainConfig) -> Examples:
    images, labels = data.load(config.dataset, "train")
    if config.train_images is not None and config.train_images < len(labels):
        chosen = data.subset(labels, config.train_images, seed=0)
        images, labels = images[chosen], labels[chosen]
    return Examples(images, labels, *data.load_validation(config.dataset, config.validation_images))


def pick_device() -> str:
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def initial_model(config: TrainConfig) -> VisionTransformer | SmallCNN:
    """The model before its first step: the same seed gives the same weights, and variants the paper's."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        model = build(config.model)
        if isinstance(model, VisionTransformer):
            initialise(model, config.initialisation)
    return model


def initialise(model: VisionTransformer, how: str) -> None:
    """Anew, in another way than the model's own; positions that are fixed stay as they are."""
    if how in ("pytorch", "pytorch-randn"):
        for module in model.modules():
            if isinstance(module, nn.Linear):
                module.reset_parameters()
    elif how == "unit-normal":
        for module in model.modules():
            if isinstance(module, nn.Linear):
                nn.init.normal_(module.weight)
    if how in ("pytorch-randn", "unit-normal"):
        for parameter in (model.embedding.cls_token, model.embedding.position_embeddings):
            if parameter.requires_grad:
                nn.init.normal_(parameter)


def make_optimizer(config: TrainConfig, model: nn.Module) -> torch.optim.Optimizer:
    if config.optimizer == "rmsprop":
        return torch.optim.RMSprop(
            model.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay
        )
    return torch.optim.AdamW(
        model.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay, fused=True
    )


@dataclass(frozen=True)
class Batch:
    """What the model just learned from, as it saw it."""

    images: np.ndarray  # uint8, mirrored where `mirrored` says so
    labels: np.ndarray
    mirrored: np.ndarray


@dataclass
class Progress:
    """Where a run stands, apart from its weights; plain values that JSON can hold."""

    step: int = 0
    validated_at: int = -1
    epoch_loss: float = 0.0
    epoch_hits: int = 0
    epoch_images: int = 0
    best_loss: float = math.inf
    epochs_without_better: int = 0
    ended: str = ""
    plateau: dict = field(default_factory=dict)


class Training:
    """A run in memory: the model, its optimizer and how far they are."""

    def __init__(self, config: TrainConfig, examples: Examples, device: str = "cpu"):
        self.config = config
        self.examples = examples
        self.device = device
        self.model = initial_model(config).to(device)
        self.forward: Callable[[Tensor], Tensor] = self.model
        self.optimizer = make_optimizer(config, self.model)
        self.plateau = ReduceLROnPlateau(self.optimizer, factor=PLATEAU_FACTOR, patience=PLATEAU_PATIENCE)
        self.progress = Progress()
        self._order_of_epoch = -1
        self._learned_from: tuple[np.ndarray, np.ndarray] | None = None
        self._moved: Tensor | None = None  # the pixels that it learned from, if they were shifted and turned

    @property
    def steps_per_epoch(self) -> int:
        return math.ceil(len(self.examples.train_labels) / self.config.batch_size)

    @property
    def steps(self) -> int:
        return self.config.epochs * self.steps_per_epoch

    def compile(self) -> str | None:
        """Let torch.compile speed the model up; where it cannot, say why and go on without."""
        compiled = torch.compile(self.model)
        try:
            with torch.no_grad():
                compiled(data.normalise(self.examples.train_images[: self.config.batch_size]).to(self.device))
        except Exception as error:  # each back end fails with exceptions of its own
            reason = str(error).strip().splitlines()[0][:120] if str(error).strip() else type(error).__name__
            return f"torch.compile finds no working compiler here, so training goes on without it ({reason})."
        self.forward = compiled
        return None

    # Learning

    def take_step(self) -> StepReport:
        config, progress = self.config, self.progress
        chosen, mirrored = self._learned_from = self._draw(*divmod(progress.step, self.steps_per_epoch))
        pixels = data.normalise(self.examples.train_images[chosen])
        if mirrored.any():
            pixels = data.flip(pixels, torch.from_numpy(mirrored))
        if config.augmentation == "shifts-and-turns":
            generator = torch.Generator().manual_seed(hash_of(config.seed, SHIFTS + progress.step))
            pixels = self._moved = data.shift_and_turn(pixels, generator)
        labels = torch.from_numpy(self.examples.train_labels[chosen]).to(self.device)
        self._set_learning_rate()
        self.model.train()
        with torch.random.fork_rng(devices=[], enabled=bool(config.model.dropout)):
            if config.model.dropout:
                torch.manual_seed(hash_of(config.seed, progress.step))
            logits = self.forward(pixels.to(self.device))
        loss = F.cross_entropy(logits, labels)
        self.optimizer.zero_grad()
        loss.backward()
        if config.clip_norm is not None:
            nn.utils.clip_grad_norm_(self.model.parameters(), config.clip_norm)
        self.optimizer.step()
        progress.step += 1
        return self._step_report(len(chosen), loss.item(), int((logits.argmax(1) == labels).sum()))

    def _step_report(self, images: int, loss: float, hits: int) -> StepReport:
        progress = self.progress
        if not math.isfinite(loss):
            raise Diverged(
                f"The loss {NO_NUMBER} after step {progress.step}: "
                "try a smaller learning rate or a longer warm-up."
            )
        progress.epoch_loss += loss * images
        progress.epoch_hits += hits
        progress.epoch_images += images
        return StepReport(
            step=progress.step, epoch=progress.step / self.steps_per_epoch, loss=loss, accuracy=hits / images,
            learning_rate=self.optimizer.param_groups[0]["lr"],
        )

    @property
    def batch(self) -> Batch | None:
        """What the last step learned from; None before there was one."""
        if self._learned_from is None:
            return None
        chosen, mirrored = self._learned_from
        images = self.examples.train_images[chosen]
        images[mirrored] = images[mirrored, :, ::-1]
        if self._moved is not None:
            images = data.as_pictures(self._moved)
        return Batch(images, self.examples.train_labels[chosen], mirrored)

    def _draw(self, epoch: int, batch: int) -> tuple[np.ndarray, np.ndarray]:
        """Which images make up a batch, and which of them are mirrored."""
        if self._order_of_epoch != epoch:
            generator = torch.Generator().manual_seed(hash_of(self.config.seed, -1 - epoch))
            count = len(self.examples.train_labels)
            self._order = data.batch_indices(count, self.config.batch_size, generator)
            self._mirrored = data.draw_flips(count, generator).split(self.config.batch_size)
            self._order_of_epoch = epoch
        chosen = self._order[batch]
        if self.config.flips or self.config.augmentation == "flips":
            mirrored = self._mirrored[batch]
        elif self.config.augmentation == "alternating-flips":
            mirrored = self._mirrored_at_first[chosen] ^ bool(epoch % 2)
        else:
            mirrored = torch.zeros(len(chosen), dtype=torch.bool)
        return chosen.numpy(), mirrored.numpy()

    @cached_property
    def _mirrored_at_first(self) -> Tensor:
        """Which images alternating flips mirror in the first epoch, and so in every second."""
        generator = torch.Generator().manual_seed(hash_of(self.config.seed, ALTERNATION))
        return data.draw_flips(len(self.examples.train_labels), generator)

    def _set_learning_rate(self) -> None:
        config, step = self.config, self.progress.step
        if config.schedule == "plateau" and step >= max(1, config.warmup_steps):
            return  # the plateau scheduler has it in hand
        factor = min(1.0, (step + 1) / config.warmup_steps) if config.warmup_steps else 1.0
        if config.schedule == "cosine" and step >= config.warmup_steps:
            done = (step - config.warmup_steps) / max(1, self.steps - config.warmup_steps)
            factor = 0.5 * (1 + math.cos(math.pi * done))
        for group in self.optimizer.param_groups:
            group["lr"] = config.learning_rate * factor

    # Judging

    def validation_due(self) -> bool:
        step = self.progress.step
        due = step % self.config.validate_every == 0 or step % self.steps_per_epoch == 0
        return due and self.progress.validated_at != step

    def validate(self) -> Iterator[Validating | Validation]:
        """Look at the validation images: a part of them on the way, all of them after an epoch."""
        step, examples = self.progress.step, self.examples
        whole = step > 0 and step % self.steps_per_epoch == 0
        glanced_at = examples.validation_images[examples.glance]
        labels = examples.validation_labels if whole else examples.validation_labels[examples.glance]
        logits = yield from self._predict(examples.validation_images if whole else glanced_at)
        report = self._judge(logits, labels)
        if whole or step == 0:  # when weights are kept
            answers = yield from self._predict(glanced_at[:, :, ::-1])
            seen = examples.validation_labels[examples.glance]
            mixed = confusion(seen, answers.argmax(1).numpy(), self.config.model.classes)
            report = replace(report, mirrored_accuracy=float(mixed.trace() / mixed.sum()),
                             mirrored_by_class=(mixed.diagonal() / mixed.sum(1).clip(1)).round(4).tolist())
        self.progress.validated_at = step
        yield self._end_epoch(report) if whole else report

    def _predict(self, images: np.ndarray) -> Generator[Validating, None, Tensor]:
        """Logits, (n, classes), in chunks that need no more memory than learning does, with a word after each."""
        chunk, logits = self.config.validation_chunk, []
        for start in range(0, len(images), chunk):
            self.model.eval()
            with torch.inference_mode():
                logits.append(self.model(data.normalise(images[start : start + chunk]).to(self.device)).cpu())
            yield Validating(step=self.progress.step, done=start, of=len(images))
        return torch.cat(logits)

    def _judge(self, logits: Tensor, labels: np.ndarray) -> Validation:
        step, predictions = self.progress.step, logits.argmax(1).numpy()
        loss = F.cross_entropy(logits, torch.tensor(labels)).item()
        if not math.isfinite(loss):
            raise Diverged(
                f"The validation loss {NO_NUMBER} after step {step}: "
                "try a smaller learning rate or a longer warm-up."
            )
        return Validation(
            step=step, epoch=step / self.steps_per_epoch, images=len(labels), loss=loss,
            accuracy=float((predictions == labels).mean()),
            confusion=confusion(labels, predictions, self.config.model.classes).tolist(),
            predictions="".join(map(str, predictions)),
        )

    def _end_epoch(self, report: Validation) -> Validation:
        progress, config = self.progress, self.config
        report = replace(
            report, whole=True, train_loss=progress.epoch_loss / progress.epoch_images,
            train_accuracy=progress.epoch_hits / progress.epoch_images,
        )
        progress.epoch_loss, progress.epoch_hits, progress.epoch_images = 0.0, 0, 0
        if config.schedule == "plateau":
            self.plateau.step(report.loss)
        if report.loss < progress.best_loss:
            progress.best_loss, progress.epochs_without_better = report.loss, 0
        else:
            progress.epochs_without_better += 1
        if progress.step >= self.steps:
            progress.ended = f"Epochs done: all {config.epochs}."
        elif config.stop_patience and progress.epochs_without_better >= config.stop_patience:
            progress.ended = f"The validation loss has not improved for {config.stop_patience} epochs."
        return report

    # Snapshots

    def snapshot(self) -> tuple[dict[str, Tensor], dict]:
        """All that is needed to go on later: tensors, and plain values for JSON."""
        weights = {f"model.{name}": value for name, value in self.model.state_dict().items()}
        self.progress.plateau = self.plateau.state_dict()
        learning_rate = self.optimizer.param_groups[0]["lr"]
        header = {"progress": asdict(self.progress), "learning_rate": learning_rate}
        return weights | checkpoints.pack_optimizer(self.optimizer), header

    def restore(self, tensors: dict[str, Tensor], header: dict) -> None:
        ours = {name: value for name, value in tensors.items() if name.startswith("model.")}
        self.model.load_state_dict({name.removeprefix("model."): value for name, value in ours.items()})
        checkpoints.unpack_optimizer(self.optimizer, tensors)
        for group in self.optimizer.param_groups:
            group["lr"] = header["learning_rate"]
        self.progress = Progress(**header["progress"])
        self.plateau.load_state_dict(self.progress.plateau)


def train(
    config: TrainConfig, examples: Examples | None = None, training: Training | None = None
) -> Iterator[Report | Validating]:
    """Reports from where `training` stands to the end of the run.

    A StepReport after each step, Validating while the model is being judged, a Validation with the verdict
    (`whole` after an epoch), a Note for what is worth a sentence, and an End with the reason.
    """
    training = training or Training(config, examples or load_examples(config), pick_device())
    if config.compile:
        note = training.compile()
        if note:
            yield Note(step=training.progress.step, message=note)
    while not training.progress.ended:
        if training.validation_due():
            yield from training.validate()
        else:
            yield training.take_step()
    yield End(step=training.progress.step, reason=training.progress.ended)


def hash_of(seed: int, number: int) -> int:
    """A seed for each use of the run's seed, the same on every machine."""
    return int(np.random.SeedSequence([seed, number % 2**32]).generate_state(1, np.uint64)[0] >> 1)
