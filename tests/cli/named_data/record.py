"""Writes questions.pt and questions.npz for named_data_test.cpp: python3 record.py, with PyTorch and NumPy 2.

A model of two inputs and two outputs by name, and sentences of 1 to 24 words. It prints what eager PyTorch gives: how
many starts and ends are right, and their mean cross-entropy, which the test has as constants.
"""

import os

import numpy
import torch

here = os.path.dirname(os.path.abspath(__file__))
sentences, longest = 100, 24


class Questions(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.words = torch.nn.Embedding(50, 16)
        self.first = torch.nn.Linear(16, 32)
        self.second = torch.nn.Linear(32, 16)
        self.start = torch.nn.Linear(16, 1)
        self.end = torch.nn.Linear(16, 1)

    def forward(self, input_ids, attention_mask):
        hidden = torch.relu(self.first(self.words(input_ids)))
        hidden = torch.relu(self.second(hidden))
        masked = (1 - attention_mask.float()) * -1e9
        return {
            "start_logits": self.start(hidden).squeeze(-1) + masked,
            "end_logits": self.end(hidden).squeeze(-1) + masked,
        }


def main():
    torch.manual_seed(0)
    model = Questions().eval()
    lengths = numpy.array([longest if i % 30 == 29 else 1 + i * 7 % (4 + i // 5) for i in range(sentences)])
    ids = numpy.random.RandomState(0).randint(0, 50, (sentences, longest)).astype("<i8")
    mask = (numpy.arange(longest)[None] < lengths[:, None]).astype("<i8")
    labels = {
        "start": (numpy.arange(sentences) % lengths).astype("<i8"),
        "end": (numpy.arange(sentences) * 3 % lengths).astype("<i8"),
    }
    numpy.savez_compressed(os.path.join(here, "questions.npz"), input_ids=ids, attention_mask=mask, **labels)
    example = (torch.from_numpy(ids[:2]), torch.from_numpy(mask[:2]))
    torch.jit.trace(model, example, strict=False).save(os.path.join(here, "questions.pt"))
    with torch.no_grad():
        outputs = model(torch.from_numpy(ids), torch.from_numpy(mask))
    for name, values in labels.items():
        logits = outputs[name + "_logits"]
        wanted = torch.from_numpy(values)
        right = (logits.argmax(1) == wanted).sum().item()
        print(name, right, torch.nn.functional.cross_entropy(logits.double(), wanted).item())


if __name__ == "__main__":
    main()
