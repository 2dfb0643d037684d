"""Make assets/mnist/ again, in the project's folder: `python -m assets.make_mnist [FOLDER]`

FOLDER holds MNIST's four raw files; without it, torchvision downloads them.
"""

import gzip
import hashlib
import sys
from pathlib import Path

from vit import data

SHA256_OF_RAW_FILES = {
    "train-images-idx3-ubyte": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    "train-labels-idx1-ubyte": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    "t10k-images-idx3-ubyte": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    "t10k-labels-idx1-ubyte": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
}


def main(raw_files: Path, bundle: Path = data.BUNDLED_MNIST) -> None:
    bundle.mkdir(exist_ok=True)
    for name, expected in SHA256_OF_RAW_FILES.items():
        raw = (raw_files / name).read_bytes()
        if hashlib.sha256(raw).hexdigest() != expected:
            sys.exit(f"{raw_files / name} is not MNIST's file of that name.")
        # No time stamp, so that the same files give the same bytes.
        compressed = gzip.compress(raw, compresslevel=9, mtime=0)
        (bundle / f"{name}.gz").write_bytes(compressed)
        print(f"{name}.gz: {len(compressed):,} bytes")


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]) if len(sys.argv) > 1 else data.download("mnist") / "MNIST" / "raw")
    except (OSError, data.DataUnavailable) as problem:
        sys.exit(str(problem))
