#!/usr/bin/env python3
"""Writes metrics.json beside this file: outputs and labels, and what scikit-learn and torch make of them in float64.

Run it with torch, numpy and scikit-learn; the file names their versions. recorded_test.cpp compares the metrics with it.
No value comes from Troupe.
"""

import json
import math
import pathlib
import warnings

import numpy
import sklearn
import sklearn.metrics as sk
import torch

DTYPES = {"float32": torch.float32, "float64": torch.float64, "float16": torch.float16, "bfloat16": torch.bfloat16}
NAN, INF = math.nan, math.inf


def plain(value):
    """A number or list as JSON has it; NaN and infinities are texts."""
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, numpy.ndarray):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def ranks(outputs, labels):
    """Position of each label among the classes, greatest output first, ties by index, NaN first (a stable sort)."""
    order = torch.sort(outputs, dim=1, descending=True, stable=True).indices
    return (order == labels.unsqueeze(1)).int().argmax(1)


def odd(outputs):
    return {
        "samples_with_nan": int(outputs.isnan().any(1).sum()),
        "samples_with_infinity": int(outputs.isinf().any(1).sum()),
    }


def of_classes(outputs, labels, classes):
    predicted = outputs.argmax(1)
    y, p = labels.numpy(), predicted.numpy()
    named = list(range(classes))
    every = list(range(max(classes, outputs.shape[1])))
    matrix = sk.confusion_matrix(y, p, labels=every)
    place = ranks(outputs, labels)
    wide = outputs.double()
    made = {"accuracy": {"value": float(sk.accuracy_score(y, p)), "correct": int((predicted == labels).sum()), "total": len(y)}}
    for k in (1, 2, 3):
        if k <= outputs.shape[1]:
            hits = int((place < k).sum())
            made[f"top{k}"] = {"value": hits / len(y), "correct": hits, "total": len(y)}
    made["per_class_accuracy"] = {
        "value": sk.recall_score(y, p, labels=named, average=None, zero_division=NAN),
        "total": numpy.bincount(y, minlength=classes),
    }
    made["confusion_matrix"] = {f"label_{c}": matrix[c, :classes] for c in named}
    made["confusion_matrix"]["other"] = matrix[:classes, classes:].sum(1)
    made["f1"] = {
        "macro": float(sk.f1_score(y, p, average="macro", zero_division=0)),
        "micro": float(sk.f1_score(y, p, average="micro", zero_division=0)),
        "per_class": sk.f1_score(y, p, labels=named, average=None, zero_division=0),
        "other": int((predicted >= classes).sum()),
        "other_classes": len(set(p[p >= classes].tolist())),
    }
    for name, loss in (("cross_entropy", torch.nn.functional.cross_entropy), ("nll", torch.nn.functional.nll_loss)):
        made[name] = {"mean": loss(wide, labels).item(), "sum": loss(wide, labels, reduction="sum").item(), "count": len(y)}
        if not wide.isfinite().all():
            made[name]["of_each_sample"] = loss(wide, labels, reduction="none").tolist()
    return made


def of_numbers(outputs, labels):
    made = {}
    for name, loss in (("mae", torch.nn.functional.l1_loss), ("mse", torch.nn.functional.mse_loss)):
        a, b = outputs.double(), labels.double()
        made[name] = {"mean": loss(a, b).item(), "sum": loss(a, b, reduction="sum").item(), "count": outputs.numel()}
    return made


class Cases:
    def __init__(self):
        self.all = []
        self.draw = torch.Generator().manual_seed(45)

    def numbers(self, *shape, scale=8):
        """Multiples of 1/64 of up to four bits before the point: short to write, and exact in float16."""
        return (torch.randn(*shape, generator=self.draw) * scale).round().clamp(-60, 60) / 4

    def labels(self, below, samples):
        return torch.randint(below, (samples,), generator=self.draw)

    def add(self, name, dtype, outputs, labels, classes=0):
        typed = outputs.to(DTYPES[dtype])
        case = {"name": name, "dtype": dtype, "classes": classes, "outputs": plain(typed.double().tolist())}
        case["labels"] = plain(labels.tolist())
        case["metrics"] = of_classes(typed, labels, classes) if classes else of_numbers(typed, labels)
        case["metrics"] = {m: {f: plain(v) for f, v in fields.items()} for m, fields in case["metrics"].items()}
        case |= odd(typed)
        self.all.append(case)


def class_cases(cases):
    for dtype in DTYPES:
        cases.add(f"random, {dtype}", dtype, cases.numbers(24, 5), cases.labels(5, 24), 5)
        cases.add(f"ties, {dtype}", dtype, cases.numbers(16, 5, scale=2).round(), cases.labels(5, 16), 5)
        strewn = cases.numbers(20, 4)
        for place, value in ((3, NAN), (17, INF), (22, -INF), (41, NAN), (42, INF), (60, -INF), (61, -INF), (62, -INF), (63, -INF)):
            strewn.view(-1)[place] = value
        cases.add(f"NaN and infinities, {dtype}", dtype, strewn, cases.labels(4, 20), 4)
        cases.add(f"log-probabilities, {dtype}", dtype, torch.log_softmax(cases.numbers(12, 6), 1), cases.labels(6, 12), 6)
    cases.add("predictions above the greatest label", "float32", cases.numbers(32, 9), cases.labels(3, 32), 3)
    eye = torch.eye(6)
    cases.add("two labels, six predicted classes", "float32", eye[[0, 1, 2, 3, 0, 1, 4, 5]], torch.tensor([0, 1, 1, 0, 0, 1, 0, 1]), 2)
    cases.add("one label, six predicted classes", "float32", eye[[0, 1, 2, 3, 4, 5]], torch.zeros(6, dtype=torch.long), 1)
    cases.add("all predictions above the labels", "float32", eye[[3, 4, 5, 3]], torch.tensor([0, 1, 2, 0]), 3)
    cases.add("classes without samples or predictions", "float32", cases.numbers(8, 12)[:, :12], cases.labels(4, 8) * 2, 12)
    cases.add("one class", "float32", cases.numbers(5, 1), torch.zeros(5, dtype=torch.long), 1)
    cases.add("one sample", "float32", cases.numbers(1, 4), torch.tensor([2]), 4)
    cases.add("one sample, wrong, outside", "float64", eye[[5]], torch.tensor([0]), 1)
    cases.add("all equal", "float32", torch.zeros(6, 4), cases.labels(4, 6), 4)
    cases.add("rows of NaN", "float32", torch.full((3, 4), NAN), torch.tensor([0, 1, 3]), 4)
    cases.add("negative zero", "float32", torch.tensor([[-0.0, 0.0], [0.0, -0.0]]), torch.tensor([0, 1]), 2)
    cases.add("large logits", "float64", cases.numbers(10, 5) * 1e4, cases.labels(5, 10), 5)


def number_cases(cases):
    for dtype in DTYPES:
        cases.add(f"regression, {dtype}", dtype, cases.numbers(14, 3), cases.numbers(14, 3))
    cases.add("regression, one column", "float32", cases.numbers(9, 1), cases.numbers(9, 1))
    cases.add("regression, integers", "float32", cases.numbers(6, 1), cases.labels(9, 6).unsqueeze(1))
    strewn = cases.numbers(6, 2)
    strewn[1, 0], strewn[4, 1] = INF, -INF
    cases.add("regression, infinities", "float32", strewn, cases.numbers(6, 2))
    strewn = strewn.clone()
    strewn[2, 0] = NAN
    cases.add("regression, NaN", "float16", strewn, cases.numbers(6, 2))


def main():
    warnings.simplefilter("ignore")
    cases = Cases()
    class_cases(cases)
    number_cases(cases)
    made_by = f"torch {torch.__version__}, scikit-learn {sklearn.__version__}, numpy {numpy.__version__}"
    lines = [json.dumps(each, separators=(",", ":")) for each in cases.all]
    text = '{"made_by":' + json.dumps(made_by) + ',"cases":[\n' + ",\n".join(lines) + "\n]}\n"
    (pathlib.Path(__file__).parent / "metrics.json").write_text(text)


main()
