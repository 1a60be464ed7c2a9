#!/usr/bin/env python3
"""Writes beside this file the first steps of training models from files in PyTorch, and the files that it needs.

Run it with torch 2.11, transformers and numpy. It makes mlp.pt2, gpt.pt2, three models that were exported in training mode
(noisy.pt2, gpt_training.pt2, mlp_training.pt2), one with an operator without gradient (stepped.pt2), and training.json with the losses and norms of weights of the first steps of mlp.pt2, gpt.pt2 and two models of the folder
data, each as the file has it: in evaluation mode. trained_numbers_test.cpp trains the same files.
"""

import json
import pathlib
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(ROOT / "tests/runtime/architecture/recorded"))
sys.path.insert(0, str(ROOT / "tests/runtime/exported/recorded"))
import formula  # noqa: E402
import make_models  # noqa: E402

make_models.HERE = HERE

STEPS = 5
torch.set_num_threads(1)


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(12, 24), nn.BatchNorm1d(24), nn.ReLU(), nn.Dropout(0.2), nn.Linear(24, 16), nn.GELU(),
            nn.Linear(16, 5))

    def forward(self, x):
        return self.layers(x)


class Attention(nn.Module):
    def __init__(self, width, heads, dropout):
        super().__init__()
        self.heads = heads
        self.dropout = dropout
        # the gradient of a bias of keys is 0 but for rounding, which Adam makes as large as any other
        self.query_key_value = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (each.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
                   for each in self.query_key_value(x).split(width, dim=2))
        mixed = F.scaled_dot_product_attention(q, k, v, dropout_p=self.dropout if self.training else 0.0, is_causal=True)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    def __init__(self, width, heads, dropout):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = Attention(width, heads, dropout)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        x = x + self.dropout(self.attention(self.norm1(x)))
        return x + self.dropout(self.mlp(self.norm2(x)))


class Gpt(nn.Module):
    def __init__(self, words=17, length=8, width=16, heads=2, blocks=2, dropout=0.1):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.places = nn.Embedding(length, width)
        self.blocks = nn.ModuleList(Block(width, heads, dropout) for _ in range(blocks))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, words, bias=False)

    def forward(self, ids):
        x = self.words(ids) + self.places(torch.arange(ids.shape[1], device=ids.device))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class Noisy(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(12, 16)
        self.second = nn.Linear(16, 5)

    def forward(self, x):
        return self.second(F.dropout(torch.relu(self.first(x)), 0.4, self.training))


class Stepped(nn.Module):
    """nextafter has no derivative."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(12, 16)
        self.second = nn.Linear(16, 5)

    def forward(self, x):
        hidden = self.first(x)
        return self.second(torch.nextafter(hidden, torch.ones_like(hidden)))


def export(name, model, example, training=False):
    formula.fill(model).train(training)
    batch = torch.export.Dim("batch", min=1, max=64)
    program = torch.export.export(model, (example,), dynamic_shapes=({0: batch},))
    make_models.save(name, program)
    return program


def batch_of(model, name, rows):
    if model in ("mlp", "noisy"):
        return formula.uniform(name + ".x", (rows, 12)), formula.below(name + ".y", (rows,), 5)
    if model == "gpt":
        return formula.below(name + ".x", (rows, 8), 17), formula.below(name + ".y", (rows, 8), 17)
    shape = (rows, 1, 28, 28) if model == "lenet" else (rows, 3, 32, 32)
    return formula.uniform(name + ".x", shape), formula.below(name + ".y", (rows,), 10)


def train(name, module, parameters):
    leaves = list(parameters.values())
    for each in leaves:
        each.requires_grad_()
    optimizer = torch.optim.AdamW(leaves, lr=1e-3, weight_decay=0.01)
    losses = []
    for step in range(STEPS):
        optimizer.zero_grad()
        total, count = 0, 0
        for index, rows in enumerate((4, 4, 3)):
            x, y = batch_of(name, f"{name}.{step}.{index}", rows)
            scores = module(x)
            total = total + F.cross_entropy(scores.reshape(-1, scores.shape[-1]), y.reshape(-1), reduction="sum")
            count += y.numel()
        loss = total / count
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    norms = {name: each.detach().double().square().mean().sqrt().item() for name, each in parameters.items()}
    return {"model": name, "losses": losses, "rms": norms}


def main():
    torch.manual_seed(0)
    cases = []
    for name, model, example in (("mlp", Mlp(), torch.zeros(3, 12)), ("gpt", Gpt(), torch.zeros(3, 8, dtype=torch.long))):
        program = export(name, model.eval(), example)
        module = program.module()
        cases.append(train(name, module, dict(module.named_parameters())))
    for name, file in (("lenet", "mnist/lenet.pt"), ("resnet20", "cifar10/resnet20.pt")):
        module = torch.jit.load(str(ROOT / "data" / file)).eval()
        cases.append(train(name, module, dict(module.named_parameters())))
    (HERE / "training.json").write_text(json.dumps({"torch": torch.__version__, "cases": cases}, indent=1) + "\n")
    export("noisy", Noisy(), torch.zeros(3, 12), training=True)
    export("stepped", Stepped(), torch.zeros(3, 12))
    export("gpt_training", Gpt(), torch.zeros(3, 8, dtype=torch.long), training=True)
    export("mlp_training", Mlp(), torch.zeros(3, 12), training=True)


if __name__ == "__main__":
    main()
