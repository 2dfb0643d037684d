"""The models that come with the project: those whose weights are there."""

from pathlib import Path

ASSETS = Path(__file__).parent.parent / "assets"
ARTICLE = ASSETS / "article"
PHOTOS = ASSETS / "cifar" / "photos.safetensors"


def shipped_in(assets: Path) -> dict[str, Path]:
    """The explorer's own model and the one for photos, and those of the article's recipe once they are recorded."""
    recorded = {"photos": assets / PHOTOS.relative_to(ASSETS),
                "article": assets / "article" / "plain.safetensors",
                "article-flips": assets / "article" / "flips.safetensors"}
    there = {name: path for name, path in recorded.items() if path.is_file()}
    return {"explorer": assets / "explorer" / "explorer.safetensors", **there}


SHIPPED = shipped_in(ASSETS)
