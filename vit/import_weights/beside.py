"""What lies beside weights: config.json and preprocessor_config.json, as timm and transformers write them."""

import json
from dataclasses import dataclass, replace
from math import floor
from pathlib import Path
from typing import Any

from vit.checkpoints import BadCheckpoint
from vit.details import LONGEST_NAME, Preparation, class_names, preparation
from vit.import_weights.recognise import NOTHING_TOLD, Told

MOST_BYTES = 20_000_000  # of a config with the names of all classes
HALF = (0.5, 0.5, 0.5)
IMAGENET_MEAN, IMAGENET_DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
HARMLESS = {"img_size", "patch_size", "embed_dim", "depth", "num_heads", "num_classes", "in_chans", "mlp_ratio",
            "drop_rate", "proj_drop_rate", "attn_drop_rate", "drop_path_rate", "pos_drop_rate", "patch_drop_rate"}
RESAMPLING = {0: "nearest", 1: "lanczos", 2: "bilinear", 3: "bicubic"}  # Pillow's numbers


@dataclass(frozen=True)
class Beside:
    """What could be learned; nothing of it may be there."""

    told: Told = NOTHING_TOLD
    origin: str = ""
    preparation: Preparation | None = None
    classes: tuple[str, ...] = ()


def read_beside(folder: Path) -> Beside:
    """Raises BadCheckpoint if a config tells of something that we cannot represent."""
    config, processor = (read_json(folder / name) for name in ("config.json", "preprocessor_config.json"))
    if "pretrained_cfg" in config or "architecture" in config:
        return from_timm(config)
    return from_transformers(config, processor) if config or processor else Beside()


def read_json(path: Path) -> dict[str, Any]:
    """What stands there; nothing if there is no such file."""
    if not path.is_file():
        return {}
    if path.stat().st_size > MOST_BYTES:
        raise BadCheckpoint(f"{path.name} beside the weights is larger than {MOST_BYTES // 10**6} MB, far too large.")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise BadCheckpoint(f"{path.name} beside the weights is not JSON: {str(error)[:100]}.") from error
    if not isinstance(content, dict):
        raise BadCheckpoint(f"{path.name} beside the weights holds no settings.")
    return content


def from_timm(config: dict[str, Any]) -> Beside:
    prepared, arguments = (part if isinstance(part := config.get(name), dict) else {}
                           for name in ("pretrained_cfg", "model_args"))
    architecture = str(config.get("architecture", ""))[:LONGEST_NAME]
    if "quickgelu" in architecture:
        raise BadCheckpoint(f"{architecture} uses quick GELU in its MLPs; here they use GELU.")
    if (pool := config.get("global_pool", "token")) != "token":
        raise BadCheckpoint(f"Its head reads the patches ({pool!r} pooling in config.json); here it reads CLS.")
    if strange := sorted(map(str, arguments.keys() - HARMLESS)):
        raise BadCheckpoint(f"config.json builds it with {strange[0][:80]}, which a plain ViT does not know.")
    size, share = prepared.get("input_size"), prepared.get("crop_pct", 0.875)
    side = size[-1] if isinstance(size, list) and size else 0
    whole = floor(side / share) if is_positive(side) and is_positive(share) and share <= 1 else side
    tag = f".{prepared['tag']}" if isinstance(prepared.get("tag"), str) and prepared["tag"] else ""
    return Beside(
        Told(heads=count(arguments.get("num_heads"))), f"timm · {architecture}{tag}" if architecture else "timm",
        preparation({"resize": whole, "crop": side, "mean": prepared.get("mean"), "deviation": prepared.get("std"),
                     "interpolation": prepared.get("interpolation")}),
        labels(config.get("label_names"), config.get("label_descriptions")),
    )


def labels(names: object, descriptions: object) -> tuple[str, ...]:
    """Descriptions, such as “tench”, are for people; names, such as n01440764, for machines."""
    listed = list(names.values()) if isinstance(names, dict) else names
    if isinstance(listed, list) and isinstance(descriptions, dict):
        listed = [descriptions.get(name, name) if isinstance(name, str) else name for name in listed]
    return class_names(listed)


def from_transformers(config: dict[str, Any], processor: dict[str, Any]) -> Beside:
    kind = config.get("model_type", "vit")
    if kind not in ("vit", "deit"):
        raise BadCheckpoint(f"config.json calls this model {str(kind)[:40]!r}; plain ViTs are 'vit' or 'deit'.")
    epsilon: Any = config.get("layer_norm_eps")
    name = config.get("_name_or_path")
    return Beside(
        Told(count(config.get("num_attention_heads")), float(epsilon) if is_positive(epsilon) else None,
             str(config.get("hidden_act", "gelu"))[:40]),
        f"transformers · {name}" if isinstance(name, str) and name else "transformers",
        prepared_by(processor), numbered(config.get("id2label")),
    )


def prepared_by(processor: dict[str, Any]) -> Preparation | None:
    size = side(processor.get("size"))
    cut = processor.get("do_center_crop") is True
    scale = processor.get("rescale_factor", 1 / 255)
    if not is_positive(scale) or abs(scale * 255 - 1) > 1e-3:
        raise BadCheckpoint(f"Its pictures are scaled by {scale!r}; here pixels from 0 to 255 become 0 to 1.")
    plain = processor.get("do_normalize") is False
    return preparation({
        "resize": size, "crop": side(processor.get("crop_size")) if cut else size, "cut": cut,
        "mean": (0.0,) * 3 if plain else processor.get("image_mean"),
        "deviation": (1.0,) * 3 if plain else processor.get("image_std"),
        "interpolation": RESAMPLING.get(resample) if isinstance(resample := processor.get("resample"), int) else None,
    })


def side(told: object) -> object:
    """Of a square: 224, or {"height": 224, "width": 224}, or {"shortest_edge": 256}."""
    if not isinstance(told, dict):
        return told
    return told.get("shortest_edge", told.get("height") if told.get("height") == told.get("width") else None)


def numbered(told: object) -> tuple[str, ...]:
    """Names under their numbers, as text; LABEL_0 and the like are no names."""
    if not isinstance(told, dict):
        return ()
    names = class_names([told.get(str(number)) for number in range(len(told))])
    return () if all(name == f"LABEL_{number}" for number, name in enumerate(names)) else names


def usual_preparation(maker: str, size: int, channels: int) -> Preparation:
    """What most models of this maker ask for, where nothing tells what this one does."""
    known = maker == "torchvision"
    prepared = Preparation(
        size + size // 7 if known else size, size, IMAGENET_MEAN if known else HALF,
        IMAGENET_DEVIATION if known else HALF, cut=known, assumed=True,
    )
    return prepared if channels == 3 else replace(prepared, mean=(0.5,), deviation=(0.5,))


def is_positive(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e6


def count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 10_000 else None
