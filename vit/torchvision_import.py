"""torchvision, also where its compiled operators do not fit the build of torch beside it.

Beside a CPU build of torch, a torchvision from another source may fail to import, because two operators for
object detection are missing. We detect no objects: it is enough to declare the two, with no code behind them,
and data sets, transforms and models are there.
"""

from types import ModuleType

_declared: list[object] = []  # torch forgets a declaration when its library object goes


def import_torchvision() -> ModuleType:
    try:
        import torchvision
    except RuntimeError as error:
        if "operator torchvision::nms does not exist" not in str(error):
            raise
        _declare_missing_operators()
        import torchvision
    return torchvision


def _declare_missing_operators() -> None:
    from torch.library import Library

    library = Library("torchvision", "DEF")
    for operator in ("nms", "qnms"):
        library.define(f"{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    _declared.append(library)
