"""Size, crop, mean, deviation and names of classes come with the weights, and pictures are fed accordingly."""

import ast
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.support.makers import as_transformers, timm_vit, torchvision_vit, write
from vit import checkpoints, data, explain, import_weights
from vit.checkpoints import BadCheckpoint
from vit.details import Details, Preparation
from vit.import_weights import __main__ as command
from vit.import_weights import fetch, import_file
from vit.trace import last_look, probabilities_of, trace_image

LITTLE = {"width": 192, "heads": 3, "depth": 1, "size": 32, "classes": 10}
HALF = (0.5, 0.5, 0.5)
GOOGLE = {  # of google/vit-base-patch16-224, shortened
    "config": {"model_type": "vit", "hidden_act": "gelu", "layer_norm_eps": 1e-12, "num_attention_heads": 3,
               "_name_or_path": "google/vit", "id2label": {str(n): f"thing {n}" for n in range(10)}},
    "preprocessor_config": {"do_normalize": True, "do_resize": True, "image_mean": HALF, "image_std": HALF,
                            "resample": 2, "size": {"height": 32, "width": 32}},
}


@pytest.fixture(scope="module")
def weights():
    return timm_vit(**LITTLE).state_dict()


def test_what_timm_writes_beside_its_weights_is_read(tmp_path):
    model = timm_vit(**LITTLE)
    from timm.data.constants import IMAGENET_DEFAULT_MEAN, IMAGENET_DEFAULT_STD
    from timm.models._hub import save_config_for_hf

    model.pretrained_cfg = {"architecture": "vit_tiny_patch16_224", "tag": "augreg_in1k", "input_size": (3, 32, 32),
                            "crop_pct": 0.9, "interpolation": "bicubic", "mean": IMAGENET_DEFAULT_MEAN,
                            "std": IMAGENET_DEFAULT_STD, "num_classes": 10}
    path = write(tmp_path, model.state_dict())
    names = [f"n{n}" for n in range(10)]
    save_config_for_hf(model, tmp_path / "config.json", {
        "label_names": names, "label_descriptions": {name: f"thing {name}" for name in names}})
    details = import_file(path).details
    assert details.origin == "timm · vit_tiny_patch16_224.augreg_in1k"
    assert details.classes == tuple(f"thing n{n}" for n in range(10))
    assert details.preparation == Preparation(35, 32, IMAGENET_DEFAULT_MEAN, IMAGENET_DEFAULT_STD, "bicubic")


def test_what_transformers_writes_beside_its_weights_is_read(weights, tmp_path):
    details = import_file(write(tmp_path, as_transformers(weights), **GOOGLE)).details
    assert details.origin == "transformers · google/vit"
    assert details.classes == tuple(f"thing {n}" for n in range(10))
    assert details.preparation == Preparation(32, 32, HALF, HALF, "bilinear", cut=False)
    deit = {"do_center_crop": True, "crop_size": {"height": 32, "width": 32}, "size": {"shortest_edge": 36},
            "image_mean": [0.485, 0.456, 0.406], "image_std": [0.229, 0.224, 0.225], "resample": 3}
    details = import_file(write(tmp_path, as_transformers(weights), preprocessor_config=deit)).details
    assert details.preparation == Preparation(36, 32, (0.485, 0.456, 0.406), (0.229, 0.224, 0.225), "bicubic")
    deit |= {"crop_size": 224, "size": 256}  # of a model that was made for larger pictures
    details = import_file(write(tmp_path, as_transformers(weights), preprocessor_config=deit)).details
    assert (details.preparation.resize, details.preparation.crop) == (36, 32)


def test_without_anything_beside_the_usual_is_assumed_and_said(weights, tmp_path):
    path = write(tmp_path, torchvision_vit(**LITTLE).state_dict())
    prepared = import_file(path).details.preparation
    assert prepared == Preparation(36, 32, (0.485, 0.456, 0.406), (0.229, 0.224, 0.225), assumed=True)
    prepared = import_file(write(tmp_path, weights)).details.preparation
    assert prepared == Preparation(32, 32, HALF, HALF, cut=False, assumed=True)


def test_torchvisions_resize_and_crop_are_what_we_assume_of_it():
    prepared = import_weights.beside.usual_preparation("torchvision", 224, 3)
    from vit.torchvision_import import import_torchvision

    theirs = import_torchvision().models.ViT_B_16_Weights.DEFAULT.transforms()
    assert (prepared.resize, prepared.crop) == (theirs.resize_size[0], theirs.crop_size[0])
    assert (prepared.mean, prepared.deviation) == (tuple(theirs.mean), tuple(theirs.std))


def test_a_thousand_classes_without_names_are_imagenets(tmp_path):
    classes = import_file(write(tmp_path, timm_vit(**LITTLE | {"classes": 1000}).state_dict())).details.classes
    assert (len(classes), classes[0], classes[-1]) == (1000, "tench", "toilet tissue")


def test_names_for_another_number_of_classes_are_refused(weights, tmp_path):
    path = write(tmp_path, as_transformers(weights), config={"model_type": "vit", "id2label": {"0": "a", "1": "b"}})
    with pytest.raises(BadCheckpoint, match="names for 2 classes, and the model has 10"):
        import_file(path)


def test_a_checkpoint_keeps_what_came_with_the_weights(weights, tmp_path):
    imported = import_file(write(tmp_path, as_transformers(weights), **GOOGLE))
    import_weights.save(imported, tmp_path / "ours.safetensors")
    assert checkpoints.details(tmp_path / "ours.safetensors") == imported.details
    assert imported.details != Details()


def test_a_model_that_brings_its_own_normalisation_is_fed_by_it_everywhere(weights, tmp_path):
    theirs = timm_vit(**LITTLE)
    import_weights.save(import_file(write(tmp_path, theirs.state_dict())), tmp_path / "ours.safetensors")
    model = checkpoints.load(tmp_path / "ours.safetensors")
    assert model.normalisation.mean == model.normalisation.deviation == HALF
    picture = np.random.default_rng(0).integers(0, 256, (32, 32, 3), dtype=np.uint8)
    pixels = (torch.from_numpy(picture).permute(2, 0, 1)[None].float() / 255 - 0.5) / 0.5
    expected = theirs(pixels)[0].detach().numpy()
    trace = trace_image(model, picture)
    np.testing.assert_allclose(trace.logits, expected, atol=1e-4)
    np.testing.assert_allclose(probabilities_of(model, picture), explain.softmax(expected), atol=1e-5)
    assert last_look(model, picture).prediction == expected.argmax()
    assert explain.conv2d_difference(model, picture) < 1e-4
    lost = explain.occlusion(trace, model)
    changed = trace.tokens.copy()
    assert len(lost) == len(changed) - 1
    np.testing.assert_allclose(trace.patches[0][:16], pixels[0, 0, 0, :16], atol=1e-6)


def test_whoever_shows_pictures_to_a_model_of_any_origin_asks_the_model_how():
    """Training and studies read their own models, all normalised alike."""
    for path in Path(data.__file__).parent.rglob("*.py"):
        if path.stem == "training" or "studies" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) == "normalise":
                assert len(node.args) == 2, f"{path.name}:{node.lineno}"


# The command


def test_the_command_makes_a_model_in_the_folder_of_the_sidebar(weights, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PATCHWISE_MODELS", str(tmp_path / "models"))
    path = write(tmp_path / "theirs", weights)
    path = path.rename(path.with_name("vit-tiny.safetensors"))
    assert command.main([str(path)]) == 0
    assert checkpoints.own_models() == {"vit-tiny": tmp_path / "models" / "vit-tiny.safetensors"}
    said = capsys.readouterr().out
    assert "1 blocks of 3 heads, D = 192" in said
    assert "Nothing beside the weights tells how pictures are prepared" in said


def test_whoever_asks_knows_better_than_what_is_usual(tmp_path, capsys):
    path = write(tmp_path, timm_vit(**LITTLE | {"width": 100, "heads": 5}).state_dict())
    (tmp_path / "names.txt").write_text("\n".join(f"name {n}" for n in range(10)))
    out = tmp_path / "ours.safetensors"
    assert command.main([str(path), str(out), "--heads", "5", "--classes", str(tmp_path / "names.txt"),
                         "--mean", "0.1", "0.2", "0.3", "--deviation", "1", "2", "3"]) == 0
    model, details = checkpoints.load(out), checkpoints.details(out)
    assert model.config.heads == 5
    assert model.normalisation.mean == (0.1, 0.2, 0.3)
    assert details.classes[3] == "name 3"
    assert not details.preparation.assumed


@pytest.mark.parametrize(("arguments", "words"), [
    (["nowhere.safetensors", "out.safetensors"], "There is no file nowhere.safetensors"),
    (["FILE", "out.bin"], "must end in .safetensors"),
    (["FILE", "FILE"], "would replace the file that it is made from"),
    (["FILE", "out.safetensors", "--mean", "0.5"], "--mean and --deviation need"),
    (["FILE", "out.safetensors", "--mean", "0.5", "--deviation", "0"], "no deviation may be 0"),
    (["FILE", "out.safetensors", "--mean", "0.5", "--deviation", "1"], "reads 3 channels, and a mean was given for 1"),
    (["--fetch", "vit_b_16", "out.safetensors", "--heads", "3"], "What is fetched brings its own"),
])  # fmt: skip
def test_what_the_command_cannot_do_it_says_in_a_sentence(arguments, words, weights, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = write(tmp_path, weights)
    before = path.read_bytes()
    assert command.main([str(path) if word == "FILE" else word for word in arguments]) == 1
    assert words in capsys.readouterr().err
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["model.safetensors"]


# The network


def test_without_a_network_torchvision_tells_what_to_put_where(monkeypatch, tmp_path, capsys):
    def no_network(*arguments, **options):
        raise OSError("Network is unreachable")

    monkeypatch.setattr(torch.hub, "download_url_to_file", no_network)
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    assert command.main(["--fetch", "vit_b_16", str(tmp_path / "out.safetensors")]) == 1
    said = capsys.readouterr().err
    assert "vit_b_16-c867db91.pth elsewhere, put it into" in said
    assert str(tmp_path / "hub" / "checkpoints") in said
    assert command.main(["--fetch", "vit_b_17", str(tmp_path / "out.safetensors")]) == 1
    assert "it has vit_b_16" in capsys.readouterr().err
    assert not (tmp_path / "out.safetensors").exists()


def test_what_torchvision_fetches_comes_with_all_that_it_knows(monkeypatch):
    model = torchvision_vit(768, 12)
    monkeypatch.setattr("torchvision.models._api.load_state_dict_from_url", lambda *a, **options: model.state_dict())
    imported = fetch.fetch("vit_b_16")
    assert imported.details.origin == "torchvision · vit_b_16.IMAGENET1K_V1"
    assert imported.details.preparation == Preparation(256, 224, (0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
    assert imported.details.classes[1] == "goldfish"


def test_the_hub_gives_weights_with_what_lies_beside(weights, tmp_path, monkeypatch):
    hub = pytest.importorskip("huggingface_hub")
    write(tmp_path, as_transformers(weights), **GOOGLE)
    monkeypatch.setattr(hub, "hf_hub_download", lambda repository, file: str(tmp_path / file))
    assert fetch.fetch("google/vit").details.origin == "transformers · google/vit"


def test_without_a_network_the_hub_tells_what_to_put_where(monkeypatch):
    hub = pytest.importorskip("huggingface_hub")

    def no_network(*arguments):
        raise OSError("Network is unreachable")

    monkeypatch.setattr(hub, "hf_hub_download", no_network)
    with pytest.raises(BadCheckpoint, match=r"Fetch model.safetensors, config.json and preprocessor_config.json from "
                                            r"https://huggingface.co/google/vit/tree/main elsewhere"):
        fetch.fetch("google/vit")


def test_without_the_hubs_client_the_way_to_it_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(BadCheckpoint, match="pip install huggingface_hub"):
        fetch.fetch("google/vit")
