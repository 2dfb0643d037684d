"""The models that come with the project: those whose weights are there."""

from pathlib import Path

ASSETS = Path(__file__).parent.parent / "assets"
ARTICLE = ASSETS / "article"

_MADE = {"explorer": ASSETS / "explorer" / "explorer.safetensors",
         "article": ARTICLE / "plain.safetensors", "article-flips": ARTICLE / "flips.safetensors"}
SHIPPED = {name: path for name, path in _MADE.items() if name == "explorer" or path.is_file()}
