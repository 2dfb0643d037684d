"""python -m vit.import_weights FILE [OUT]: somebody else's weights become a model that the explorer opens.

Without OUT it goes into the folder of models, where the sidebar shows it. --fetch takes a name in place of a file.
"""

import argparse
import sys
from pathlib import Path

from vit.checkpoints import BadCheckpoint, models_folder
from vit.datasets import Normalisation
from vit.details import class_names
from vit.files import why
from vit.import_weights.fetch import fetch
from vit.import_weights.reading import Imported, import_file, save


def main(arguments: list[str] | None = None) -> int:
    asked = parser().parse_args(arguments)
    out = asked.out or models_folder() / f"{stem(asked.source)}.safetensors"
    try:
        if out.suffix != ".safetensors":
            raise BadCheckpoint(f"{out.name} must end in .safetensors, or the sidebar does not find it.")
        if out.exists() and not asked.fetch and out.samefile(asked.source):
            raise BadCheckpoint(f"{out.name} would replace the file that it is made from.")
        if asked.fetch and any((asked.heads, asked.mean, asked.deviation, asked.classes)):
            raise BadCheckpoint("What is fetched brings its own heads, mean, deviation and classes: tell them of a "
                                "file only.")
        imported = fetch(asked.source) if asked.fetch else import_file(
            Path(asked.source), asked.heads, told_normalisation(asked), told_classes(asked.classes))
        save(imported, out)
    except (BadCheckpoint, OSError) as error:
        print(why(error) if isinstance(error, OSError) else error, file=sys.stderr)
        return 1
    print(summary(imported))
    print(f"Saved as {out}.")
    return 0


def parser() -> argparse.ArgumentParser:
    found = argparse.ArgumentParser("python -m vit.import_weights", description=__doc__,
                                    formatter_class=argparse.RawDescriptionHelpFormatter)
    found.add_argument("source", metavar="FILE", help="safetensors file of torchvision, timm or transformers")
    found.add_argument("out", metavar="OUT", type=Path, nargs="?", help="the checkpoint to write")
    found.add_argument("--fetch", action="store_true", help="FILE is a name: vit_b_16, or OWNER/NAME on the hub")
    found.add_argument("--heads", type=int, help="number of heads, where nothing tells it")
    found.add_argument("--mean", type=float, nargs="+", help="of each channel of the pixels, from 0 to 1")
    found.add_argument("--deviation", type=float, nargs="+", help="the same; both or none")
    found.add_argument("--classes", type=Path, metavar="LIST", help="a text file with the name of a class in each line")
    return found


def stem(source: str) -> str:
    """google/vit-base-patch16-224 and vit.safetensors without what a file's name cannot hold."""
    path = Path(source)
    return path.stem if path.suffix == ".safetensors" else source.replace("/", "-")


def told_normalisation(asked: argparse.Namespace) -> Normalisation | None:
    if asked.mean is None and asked.deviation is None:
        return None
    mean, deviation = asked.mean or [], asked.deviation or []
    if not mean or len(mean) != len(deviation) or min(deviation) <= 0:
        raise BadCheckpoint("--mean and --deviation need one number for each channel, and no deviation may be 0.")
    return Normalisation(tuple(mean), tuple(deviation))


def told_classes(path: Path | None) -> tuple[str, ...]:
    if path is None:
        return ()
    try:
        return class_names(path.read_text(encoding="utf-8").splitlines())
    except UnicodeDecodeError as error:
        raise BadCheckpoint(f"{path.name} is not a text with the name of a class in each line.") from error


def summary(imported: Imported) -> str:
    config, details = imported.model.config, imported.details
    lines = [
        f"{details.origin}: {config.parameters:,} weights, {config.depth} blocks of {config.heads} heads, D = "
        f"{config.width}, {config.patches} patches of {config.patch_size} x {config.patch_size}, "
        f"{config.classes:,} classes ({', '.join(details.classes[:3])}, …)."
    ]
    if details.preparation and details.preparation.assumed:
        lines.append("Nothing beside the weights tells how pictures are prepared, so what is usual for this maker is "
                     f"assumed: mean {details.preparation.mean}, deviation {details.preparation.deviation}. Say it "
                     "with --mean and --deviation if it is not so.")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
