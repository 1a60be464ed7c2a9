#!/usr/bin/env python3
"""Writes training.json beside this file: the first steps of training in PyTorch, from weights and data by formula.

Run it with torch and numpy; the file names the version. recorded_test.cpp trains the same models in C++, and
tests/program/trained_ties_test.cpp those with tied weights.
"""

import json
import math
import pathlib
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "architecture/recorded"))
import formula  # noqa: E402

STEPS = 5
torch.set_num_threads(1)


class Call(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def mlp():
    return nn.Sequential(nn.ReLU(), nn.Linear(12, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 5))


def lenet():
    return nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10))


class BasicBlock(nn.Module):
    def __init__(self, into, out, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(into, out, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(out)
        self.conv2 = nn.Conv2d(out, out, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(out)
        self.stride = stride
        self.pad = out // 4

    def forward(self, x):
        shortcut = x
        if self.stride != 1:
            shortcut = F.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, self.pad, self.pad))
        return F.relu(self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x))))) + shortcut)


def resnet20():
    blocks = []
    for into, out in ((16, 16), (16, 32), (32, 64)):
        for block in range(3):
            widens = block == 0 and into != out
            blocks.append(BasicBlock(into if widens else out, out, 2 if widens else 1))
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(), *blocks,
        Call(lambda x: x.mean((2, 3))), nn.Linear(64, 10))


class Embeddings(nn.Module):
    def __init__(self, vocabulary, positions, width):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.places = nn.Embedding(positions, width)

    def forward(self, ids):
        return self.tokens(ids) + self.places(torch.arange(ids.shape[1]))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.projection = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.widen = nn.Linear(width, 4 * width)
        self.narrow = nn.Linear(4 * width, width)
        self.heads = heads

    def forward(self, x):
        n, t, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(n, t, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1) / math.sqrt(width // self.heads)
        scores = scores.masked_fill(torch.ones(t, t, dtype=torch.bool).triu(1), -1e9)
        mixed = (scores.softmax(-1) @ v).transpose(1, 2).reshape(n, t, width)
        x = x + self.projection(mixed)
        return x + self.narrow(F.gelu(self.widen(self.norm2(x))))


def gpt():
    return nn.Sequential(Embeddings(17, 8, 16), Block(16, 2), Block(16, 2), nn.LayerNorm(16),
                         nn.Linear(16, 17, bias=False))


def tied_gpt():
    embeddings = Embeddings(17, 8, 16)
    return nn.Sequential(embeddings, Block(16, 2), Block(16, 2), nn.LayerNorm(16),
                         Call(lambda x: F.linear(x, embeddings.tokens.weight)))


def tied_mlp():
    shared = nn.Linear(16, 16)
    return nn.Sequential(nn.Linear(12, 16), nn.ReLU(), shared, nn.ReLU(), shared, nn.ReLU(), shared, nn.ReLU(),
                         nn.Linear(16, 5))


def pictures(channels, size):
    return lambda name, rows: (formula.uniform(name + ".x", (rows, channels, size, size)),
                               formula.below(name + ".y", (rows,), 10))


MODELS = {
    "mlp": (mlp, lambda name, rows: (formula.uniform(name + ".x", (rows, 12)), formula.below(name + ".y", (rows,), 5))),
    "lenet": (lenet, pictures(1, 28)),
    "resnet20": (resnet20, pictures(3, 32)),
    "gpt": (gpt, lambda name, rows: (formula.below(name + ".x", (rows, 8), 17), formula.below(name + ".y", (rows, 8), 17))),
}
TIED = {"gpt": tied_gpt, "mlp": tied_mlp}
CLIP_NORM = 0.25
OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, weight_decay=1e-4),
    "adamw": lambda p: torch.optim.AdamW(p, lr=1e-3, weight_decay=0.01),
}
ROWS = [4, 4, 3]


def sum_of_losses(outputs, labels):
    return F.cross_entropy(outputs.reshape(-1, outputs.shape[-1]), labels.reshape(-1), reduction="sum")


def train(name, optimizer):
    make, data = MODELS[name]
    model = formula.fill(make()).train()
    steps = OPTIMIZERS[optimizer](model.parameters())
    losses = []
    for step in range(STEPS):
        batches = [data(f"{name}.{step}.{at}", rows) for at, rows in enumerate(ROWS)]
        weight = sum(labels.numel() for _, labels in batches)
        steps.zero_grad()
        total = 0.0
        for inputs, labels in batches:
            loss = sum_of_losses(model(inputs), labels)
            total += loss.item()
            loss.backward()
        for each in model.parameters():  # divided once: ResNet-20 makes much of each rounding within five steps
            each.grad /= weight
        steps.step()
        losses.append(total / weight)
    return model, losses


def train_tied(name):
    """AdamW with clipping; the norms are those before it."""
    model = TIED[name]()
    with torch.no_grad():
        for key, value in model.named_parameters():  # tied ones once, by their first name
            value.copy_(formula.weight(key, tuple(value.shape)))
    steps = OPTIMIZERS["adamw"](model.parameters())
    losses, norms = [], []
    for step in range(STEPS):
        batches = [MODELS[name][1](f"tied.{name}.{step}.{at}", rows) for at, rows in enumerate(ROWS)]
        loss = sum(sum_of_losses(model(inputs), labels) for inputs, labels in batches)
        loss = loss / sum(labels.numel() for _, labels in batches)
        steps.zero_grad()
        loss.backward()
        norms.append(nn.utils.clip_grad_norm_(model.parameters(), CLIP_NORM).item())
        steps.step()
        losses.append(loss.item())
    return losses, norms


def digest(tensor):
    """The root of the mean square, and eight elements spread over the tensor."""
    flat = tensor.detach().double().flatten()
    places = [i * (flat.numel() - 1) // 7 for i in range(8)]
    return {"rms": flat.square().mean().sqrt().item(), "values": flat[places].tolist()}


made = {"torch": torch.__version__, "cases": []}
for name in MODELS:
    for optimizer in OPTIMIZERS:
        model, losses = train(name, optimizer)
        made["cases"].append({"model": name, "optimizer": optimizer, "losses": losses,
                              "weights": {key: digest(value) for key, value in model.state_dict().items()}})
made["tied"] = {}
for name in TIED:
    losses, norms = train_tied(name)
    made["tied"][name] = {"losses": losses, "norms": norms}
target = pathlib.Path(__file__).with_name("training.json")
target.write_text(json.dumps(made, separators=(",", ":")).replace('{"model"', '\n{"model"') + "\n")
