"""The plain loop that char_gpt is compared with: the same layers, weights, batches and optimizer. Prints the same lines.

Usage: BIN/char_gpt TEXT --export FILE; python char_gpt.py TEXT STEPS FILE        (torch 2.11)
"""

import sys

import torch
import torch.nn.functional as F
from torch import nn

WIDTH, HEADS, BLOCK, DEPTH, ROWS, MICRO_BATCHES, HELD_OUT, EVERY = 96, 4, 64, 4, 8, 4, 32, 250
torch.set_num_threads(1)
text, steps, export = open(sys.argv[1], "rb").read(), int(sys.argv[2]), sys.argv[3]
known = sorted(set(text), key=lambda each: each if each < 128 else each - 256)  # char has a sign
ids = torch.tensor([known.index(each) for each in text])
cut = len(ids) * 9 // 10
PARTS = {False: ids[:cut], True: ids[cut:]}


class Embedding(nn.Module):
    def __init__(self):
        super().__init__()
        self.token = nn.Embedding(len(known), WIDTH)
        self.position = nn.Parameter(torch.empty(BLOCK, WIDTH))

    def forward(self, tokens):
        return self.token(tokens) * 0.02 + self.position


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention, self.projection = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.wide, self.narrow = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        parts = self.attention(self.norm1(x)).reshape(x.shape[0], x.shape[1], 3, HEADS, WIDTH // HEADS)
        q, k, v = (parts[:, :, which].transpose(1, 2) for which in range(3))
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.projection(seen.transpose(1, 2).reshape(x.shape))
        return x + self.narrow(F.gelu(self.wide(self.norm2(x))))


def drawn(number, held_out):
    part = PARTS[held_out]
    places = [((number * ROWS + row + 1) * 0x9E3779B97F4A7C15 % 2**64 >> 20) % (len(part) - BLOCK) for row in range(ROWS)]
    return torch.stack([part[at:at + BLOCK] for at in places]), torch.stack([part[at + 1:at + 1 + BLOCK] for at in places])


network = nn.Sequential(Embedding(), *[Block() for _ in range(DEPTH)], nn.LayerNorm(WIDTH), nn.Linear(WIDTH, len(known)))
network.load_state_dict(torch.load(export, weights_only=False))
optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3, weight_decay=0.01)
total = max(steps, 101)
scheduler = torch.optim.lr_scheduler.SequentialLR(optimizer, [
    torch.optim.lr_scheduler.LinearLR(optimizer, 1 / 100, 1, 100),
    torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, total)], [100])


def loss_of(number, held_out):
    inputs, labels = drawn(number, held_out)
    return F.cross_entropy(network(inputs).flatten(0, 1), labels.flatten())


for step in range(1, steps + 1):
    loss = 0.0
    for index in range(MICRO_BATCHES):
        made = loss_of((step - 1) * MICRO_BATCHES + index, False) / MICRO_BATCHES
        made.backward()
        loss += made.item()
    nn.utils.clip_grad_norm_(network.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    scheduler.step()
    if step <= 10 or step % EVERY == 0 or step == steps:
        with torch.no_grad():
            held_out = sum(loss_of(number, True).item() for number in range(HELD_OUT)) / HELD_OUT
        print("%d %.7f %.5f" % (step, loss, held_out), flush=True)
