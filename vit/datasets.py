"""What is known of each data set without loading it."""

from dataclasses import dataclass

Means = tuple[float, ...]  # one number per channel


@dataclass(frozen=True)
class Normalisation:
    """Mean and standard deviation of the training pixels, scaled to 0..1, and whose pixels these are; the makers of
    other models choose both as they like."""

    mean: Means
    deviation: Means
    measured_on: str = ""


# MNIST's for all grey pictures and CIFAR-10's for all coloured ones, so that the number of channels tells how the input
# of a model that was trained here is normalised. Weights from elsewhere bring their own (vit/details.py).
NORMALISATION = {
    1: Normalisation((0.1307,), (0.3081,), "MNIST"),
    3: Normalisation((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616), "CIFAR-10"),
}


@dataclass(frozen=True)
class Dataset:
    title: str
    image_size: int
    channels: int
    train_images: int  # without those that are set aside for validation
    classes: tuple[str, ...]
    thing: str = "image"  # what one of its pictures is called


VALIDATION_IMAGES = 5_000
DATASETS = {
    "mnist": Dataset("MNIST", 28, 1, 55_000, tuple("0123456789"), "digit"),
    "fashion-mnist": Dataset("Fashion-MNIST", 28, 1, 55_000, (
        "T-shirt", "trousers", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "boot")),
    "kmnist": Dataset("KMNIST", 28, 1, 55_000, ("o", "ki", "su", "tsu", "na", "ha", "ma", "ya", "re", "wo")),
    "cifar10": Dataset("CIFAR-10", 32, 3, 45_000, (
        "plane", "car", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"), "picture"),
}  # fmt: skip
