"""Turn a trained checkpoint into the one that ships: `python -m assets.cifar.recipe.ship FOLDER`.

FOLDER is what `assets.cifar.recipe.train` has filled; the moving average of the weights after its last epoch ships.
"""

import argparse
from pathlib import Path

from assets.cifar.recipe.train import SMOOTHING
from assets.recipes import epochs_of, ship
from vit import checkpoints
from vit.shipped import PHOTOS


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    epochs = epochs_of(folder)
    model = checkpoints.load(folder / f"epoch-{len(epochs):02}.safetensors")
    ship(model, "cifar10", PHOTOS, {"epochs": epochs, "flips": True}, SMOOTHING)


if __name__ == "__main__":
    main()
