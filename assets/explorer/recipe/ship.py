"""Turn a trained checkpoint into the one that ships: `python -m assets.explorer.recipe.ship FOLDER`.

FOLDER is what `assets.explorer.recipe.train` has filled; the mean of the weights after some of its epochs ships.
"""

import argparse
import json
from pathlib import Path

import numpy as np

from assets.explorer.recipe.lessons import SMOOTHING
from assets.recipes import epochs_of, ship
from vit import checkpoints, data
from vit.model import VisionTransformer

# The end of the fourth cycle, and the middle and the last but one epoch of the fifth: of eleven candidates the most
# right on the validation images.
AVERAGED = [43, 47, 51]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    model = mean([checkpoints.load(folder / f"epoch-{epoch:02}.safetensors") for epoch in AVERAGED])

    told = {"epochs": epochs_of(folder)[: max(AVERAGED)], "mean_of_epochs": AVERAGED}
    shipped = checkpoints.SHIPPED["explorer"]
    test, (_, labels) = ship(model, "mnist", shipped, told, SMOOTHING), data.load("mnist", "test")
    wrong = np.flatnonzero(test.argmax(1) != labels)
    most_certain_first = wrong[np.argsort(-test.max(1)[wrong])]
    (shipped.parent / "mistakes.json").write_text(json.dumps(most_certain_first.tolist()) + "\n")


def mean(models: list[VisionTransformer]) -> VisionTransformer:
    """A model whose every weight is the mean of theirs."""
    states = [model.state_dict() for model in models]
    models[0].load_state_dict({name: sum(state[name] for state in states) / len(states) for name in states[0]})
    return models[0]


if __name__ == "__main__":
    main()
