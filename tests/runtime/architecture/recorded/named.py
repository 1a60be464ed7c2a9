"""Records what models of torchvision give: python named.py, with torch 2.11 and torchvision 0.26.

For each model a JSON file: names, types and sizes of its state dict, the sizes of the input, and the output of eager PyTorch, for
weights and inputs by formula.py.
"""

import json
import pathlib

import torch
import torchvision

import formula

FOLDER = pathlib.Path(__file__).parent
torch.set_num_threads(1)


def record(name, model, shape):
    model = formula.fill(model)
    x = formula.uniform("input x", shape)
    with torch.no_grad():
        out = model(x)
    tensors = [[key, str(each.dtype).removeprefix("torch."), list(each.shape)] for key, each in model.state_dict().items()]
    text = {"arch": name, "weights": tensors, "input": list(shape), "output_sizes": list(out.shape), "output": [float(v) for v in out.flatten()]}
    (FOLDER / f"{name}.json").write_text(json.dumps(text) + "\n")


for name in ["resnet18", "resnet50", "resnext50_32x4d"]:
    record(name, torchvision.models.get_model(name, num_classes=10), (2, 3, 64, 64))
