#!/usr/bin/env python3
"""A transformer encoder with random weights, and data for it: the model of the GPU figures in docs/gpu.md.

    make_encoder.py DIR [--samples N]

Writes DIR/encoder.pt (TorchScript, bfloat16: an embedding, 12 layers of width 768 with 12 heads, a mean over the
tokens, and 1000 classes), DIR/ids.npy (int64 [N, 128]) and DIR/labels.npy (int64 [N]). The seed is fixed.
"""
import argparse
import os

import numpy
import torch
from torch import nn
from torch.nn import functional

WIDTH, HEADS, LAYERS, TOKENS, WORDS, CLASSES = 768, 12, 12, 128, 8192, 1000


class EncoderLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.before_attention = nn.LayerNorm(WIDTH)
        self.query_key_value = nn.Linear(WIDTH, 3 * WIDTH)
        self.attended = nn.Linear(WIDTH, WIDTH)
        self.before_feed = nn.LayerNorm(WIDTH)
        self.up = nn.Linear(WIDTH, 4 * WIDTH)
        self.down = nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        batch, tokens = x.size(0), x.size(1)
        mixed = self.query_key_value(self.before_attention(x)).view(batch, tokens, 3, 12, 64).permute(2, 0, 3, 1, 4)
        heads = functional.scaled_dot_product_attention(mixed[0], mixed[1], mixed[2])
        x = x + self.attended(heads.transpose(1, 2).reshape(batch, tokens, 768))
        return x + self.down(functional.gelu(self.up(self.before_feed(x))))


class MeanOfTokens(nn.Module):
    def forward(self, x):
        return x.mean(1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("directory")
    parser.add_argument("--samples", type=int, default=2048)
    how = parser.parse_args()
    os.makedirs(how.directory, exist_ok=True)
    torch.manual_seed(20)
    layers = [nn.Embedding(WORDS, WIDTH)] + [EncoderLayer() for _ in range(LAYERS)]
    model = nn.Sequential(*layers, MeanOfTokens(), nn.LayerNorm(WIDTH), nn.Linear(WIDTH, CLASSES)).eval()
    torch.jit.script(model.to(torch.bfloat16)).save(os.path.join(how.directory, "encoder.pt"))
    draw = numpy.random.default_rng(20)
    ids = draw.integers(0, WORDS, (how.samples, TOKENS))
    labels = draw.integers(0, CLASSES, how.samples)
    labels[0] = CLASSES - 1
    numpy.save(os.path.join(how.directory, "ids.npy"), ids.astype("<i8"))
    numpy.save(os.path.join(how.directory, "labels.npy"), labels.astype("<i8"))


if __name__ == "__main__":
    main()
