#!/usr/bin/env python3
"""Records what PyTorch 2.11 gives for trainings of data/mnist/lenet.pt, for tests/cli/train_test.cpp.

usage: record_losses.py FOLDER_DATA > losses.json

FOLDER_DATA is data/ of the repository. The model is trained as its file is, in evaluation mode, on the first 100 images of
the test set in their order: three passes by a DataLoader without drop_last, whose batch is one step, with the mean of the
loss over the batch.
"""
import gzip
import json
import pathlib
import struct
import sys

import torch

SAMPLES = 100
BATCH = 30


def idx(path):
    opened = gzip.open(path) if path.suffix == ".gz" else open(path, "rb")
    with opened as file:
        kind, dims = struct.unpack(">HBB", file.read(4))[1:]
        assert kind == 8
        sizes = struct.unpack(f">{dims}I", file.read(4 * dims))
        return torch.frombuffer(bytearray(file.read()), dtype=torch.uint8).reshape(sizes)


def data(folder):
    images = next(folder.glob("t10k-images*"))
    labels = next(folder.glob("t10k-labels*"))
    pixels = idx(images)[:SAMPLES].unsqueeze(1).float() / 255
    return torch.utils.data.TensorDataset(pixels, idx(labels)[:SAMPLES].long())


def train(folder, make_optimizer, clip=None):
    torch.manual_seed(0)
    model = torch.jit.load(folder / "lenet.pt").eval()
    for parameter in model.parameters():
        parameter.requires_grad_(True)
    optimizer = make_optimizer(model.parameters())
    losses = []
    for _ in range(3):
        for images, labels in torch.utils.data.DataLoader(data(folder), batch_size=BATCH):
            optimizer.zero_grad()
            loss = torch.nn.functional.nll_loss(model(images), labels)
            loss.backward()
            if clip is not None:
                torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
            optimizer.step()
            losses.append(loss.item())
    return losses


def main():
    folder = pathlib.Path(sys.argv[1]) / "mnist"
    torch.set_num_threads(1)
    made = {
        "torch": torch.__version__,
        "sgd": train(folder, lambda p: torch.optim.SGD(p, lr=0.005, momentum=0.9, weight_decay=0.001, nesterov=True)),
        "adamw": train(folder, lambda p: torch.optim.AdamW(p, lr=1e-4, weight_decay=0.05), clip=1.0),
    }
    print(json.dumps(made, indent=1))


if __name__ == "__main__":
    main()
