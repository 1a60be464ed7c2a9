#!/usr/bin/env python3
"""Writes the first pictures of each class in test_batch_1000.bin as PNG files, a folder for each class, and prints what
resnet20.pt gives for them in eager PyTorch. (torch 2.11, Pillow)

Usage: python make_pictures.py FOLDER, which has test_batch_1000.bin and resnet20.pt
"""
import pathlib
import sys

import numpy
import torch
from PIL import Image

CLASSES = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]
EACH = 4

folder = pathlib.Path(sys.argv[1])
records = numpy.fromfile(folder / "test_batch_1000.bin", "u1").reshape(-1, 3073)
pixels, labels = [], []
for label, name in enumerate(CLASSES):
    place = folder / "pictures" / name
    place.mkdir(parents=True, exist_ok=True)
    for record in numpy.flatnonzero(records[:, 0] == label)[:EACH]:
        planes = records[record, 1:].reshape(3, 32, 32)
        Image.fromarray(planes.transpose(1, 2, 0)).save(place / f"{record:03d}.png", optimize=True)
        pixels.append(planes)
        labels.append(label)
with torch.no_grad():
    outputs = torch.jit.load(str(folder / "resnet20.pt")).eval()(torch.from_numpy(numpy.stack(pixels)).float() / 255)
labels = torch.tensor(labels)
print(f"{(outputs.argmax(1) == labels).sum()} of {len(labels)}, cross-entropy",
      f"{torch.nn.functional.cross_entropy(outputs.double(), labels):.9g}")
