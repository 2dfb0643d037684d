"""The remedy for a torchvision that does not fit torch, tried in fresh processes."""

import subprocess
import sys
import textwrap
from pathlib import Path

PROJECT = Path(__file__).parent.parent

MISFIT = """
    import torch
    if not hasattr(torch.ops.torchvision, "nms"):
        raise RuntimeError("operator torchvision::nms does not exist")
"""


def run(code, torchvision=None, folder=None):
    """Run code in a new process, if asked with a torchvision of our own making."""
    if torchvision is not None:
        (folder / "torchvision.py").write_text(textwrap.dedent(torchvision))
        code = f"import sys; sys.path.insert(0, {str(folder)!r})\n{code}"
    return subprocess.run([sys.executable, "-c", code], cwd=PROJECT, capture_output=True, text=True)


def test_data_sets_transforms_and_models_are_there():
    result = run(
        "from vit.torchvision_import import import_torchvision\n"
        "torchvision = import_torchvision()\n"
        "import torchvision.transforms.v2\n"
        "print(torchvision.datasets.MNIST, torchvision.models.VisionTransformer)"
    )
    assert result.returncode == 0, result.stderr


def test_it_helps_a_torchvision_that_misses_its_operators(tmp_path):
    result = run("from vit import torchvision_import as t; t.import_torchvision()", MISFIT, tmp_path)
    assert result.returncode == 0, result.stderr


def test_it_leaves_a_torchvision_that_works_alone(tmp_path):
    result = run(
        "from vit import torchvision_import as t; t.import_torchvision(); print(t._declared)",
        "",
        tmp_path,
    )
    assert result.stdout == "[]\n", result.stderr


def test_it_does_not_hide_other_failures(tmp_path):
    result = run(
        "from vit.torchvision_import import import_torchvision; import_torchvision()",
        "raise RuntimeError('something else')",
        tmp_path,
    )
    assert result.stderr.endswith("RuntimeError: something else\n")


def test_naming_it_does_not_load_torch_yet():
    result = run("import sys, vit.torchvision_import; print('torch' in sys.modules)")
    assert result.stdout == "False\n", result.stderr
