"""Weights of others as a checkpoint of ours: torchvision's, timm's and transformers' plain Vision Transformers.

    names      what each maker calls the same weights, both ways
    recognise  whose weights these are and which shape they have; what we cannot represent is refused in a sentence
    beside     what config.json and its like tell: heads, pre-processing, class names
    reading    a safetensors file to a checkpoint
    fetch      the same from the network
"""

from vit.import_weights.names import to_timm, to_torchvision, to_transformers
from vit.import_weights.reading import Imported, import_file, save

__all__ = ["Imported", "import_file", "save", "to_timm", "to_torchvision", "to_transformers"]
