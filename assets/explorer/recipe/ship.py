"""Turn a trained checkpoint into the one that ships: `python -m assets.explorer.recipe.ship FOLDER`.

FOLDER is what `assets.explorer.recipe.train` has filled. The mean of the weights after some of its epochs gets the
temperature (never one that sharpens) and the "not sure" threshold that suit the validation split; the test set is
looked at only to report on it.
"""

import argparse
import copy
import json
from pathlib import Path

import numpy as np

from assets.explorer.recipe import calibrate
from benchmarks.report import logits_of
from vit import checkpoints, data
from vit.explain import softmax
from vit.measures import best_temperature, expected_calibration_error, sure_from
from vit.model import VisionTransformer

# The end of the fourth cycle, and the middle and the last but one epoch of the fifth: of eleven candidates the most
# right on the validation images.
AVERAGED = [43, 47, 51]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    model = mean([checkpoints.load(folder / f"epoch-{epoch:02}.safetensors") for epoch in AVERAGED])

    images, labels = data.load("mnist", "validation")
    logits = logits_of(model, images)
    best = best_temperature(logits, labels)
    temperature = max(1.0, best)  # below 1 it would make the model surer of digits, and of scribbles too
    model.head.weight /= temperature  # the same as dividing the logits, and nobody has to remember to
    model.head.bias /= temperature
    calibrated = softmax(logits / temperature)

    test_images, test_labels = data.load("mnist", "test")
    whole = logits_of(model, test_images)
    halved = logits_of(copy.deepcopy(model).half().float(), test_images)
    change, changed = float(np.abs(whole - halved).max()), int((whole.argmax(1) != halved.argmax(1)).sum())
    half = change < 1e-2 and not changed  # then the file may be half as large
    shipped_logits = halved if half else whole
    test = softmax(shipped_logits)
    wrong = np.flatnonzero(test.argmax(1) != test_labels)
    details = {
        "epochs": [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()][: max(AVERAGED)],
        "mean_of_epochs": AVERAGED,
        "temperature": round(temperature, 4),
        "best_temperature_on_validation": round(best, 4),
        "unsure_below": round(sure_from(calibrated, labels), 4),
        "validation_accuracy": float((calibrated.argmax(1) == labels).mean()),
        "test_accuracy": float((test.argmax(1) == test_labels).mean()),
        "calibration_error": round(expected_calibration_error(test, test_labels), 5),
        "calibration_error_at_best_temperature": round(
            expected_calibration_error(softmax(shipped_logits * temperature / best), test_labels), 5
        ),
        "half_precision": half,
        "halving_changes_logits_by": round(change, 5),
        "halving_changes_predictions": changed,
    }
    shipped = checkpoints.SHIPPED["explorer"]
    checkpoints.save(model, shipped, details, half=half)
    most_certain_first = wrong[np.argsort(-test.max(1)[wrong])]
    (shipped.parent / "mistakes.json").write_text(json.dumps(most_certain_first.tolist()) + "\n")
    calibrate.record(test, test_labels)
    print(json.dumps({name: value for name, value in details.items() if name != "epochs"}, indent=1))


def mean(models: list[VisionTransformer]) -> VisionTransformer:
    """A model whose every weight is the mean of theirs."""
    states = [model.state_dict() for model in models]
    models[0].load_state_dict({name: sum(state[name] for state in states) / len(states) for name in states[0]})
    return models[0]


if __name__ == "__main__":
    main()
