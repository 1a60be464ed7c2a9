#!/usr/bin/env python3
"""Writes named.json beside this file: metrics with their options, as scikit-learn, torchmetrics, scipy and torch compute
them in float64 from the same outputs and labels.

Run it with these packages and numpy; the file names their versions. named_metrics_test.cpp compares the metrics with it.
No value comes from Troupe. A definition that none of the packages has is written out below, from docs/metrics.md.
"""

import json
import math
import pathlib
import warnings

import numpy as np
import scipy
import scipy.stats
import sklearn
import sklearn.metrics as sk
import torch
import torch.nn.functional as F
import torchmetrics
import torchmetrics.functional.classification as tm
from torchmetrics.functional.text import perplexity

DTYPES = {"float32": torch.float32, "float64": torch.float64, "float16": torch.float16, "bfloat16": torch.bfloat16}
NAN, INF = math.nan, math.inf


def plain(value):
    """A number or list as JSON has it; NaN and infinities are texts."""
    if isinstance(value, (torch.Tensor, np.ndarray)):
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, (np.floating, np.integer)):
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return float(value)
    return value


def mean_of_defined(values, weights=None):
    values = np.array(values, dtype=float)
    weights = np.ones(len(values)) if weights is None else np.array(weights, dtype=float)
    known = ~np.isnan(values)
    return float((values[known] * weights[known]).sum() / weights[known].sum()) if weights[known].sum() > 0 else NAN


# Decisions: labels y, predicted classes p, classes of the data.


def per_class_specificity(y, p, classes):
    """Of the classes of the data, then of those that only the model has and predicts."""
    beyond = {c: classes + i for i, c in enumerate(sorted(set(p[p >= classes].tolist())))}
    q = np.array([beyond.get(c, c) for c in p.tolist()])
    width = max(2, classes + len(beyond))
    a, b = torch.tensor(q), torch.tensor(y)
    each = tm.multiclass_specificity(a, b, num_classes=width, average=None).double()
    stats = tm.multiclass_stat_scores(a, b, num_classes=width, average=None).double()
    exact = (stats[:, 2] / (stats[:, 1] + stats[:, 2])).nan_to_num(0).numpy()
    assert np.allclose(exact, each.numpy(), atol=1e-6)
    micro = float(stats[:, 2].sum() / (stats[:, 1] + stats[:, 2]).sum())
    seen = np.array([(q == c).any() or (y == c).any() for c in range(width)])
    return exact, micro, float(exact[seen].mean())


def averages(name, each, macro, micro, weighted, y, options=""):
    total = np.bincount(y, minlength=len(each))[: len(each)]
    made = {
        f"{name}{options}": {"macro": macro, "micro": micro, "weighted": weighted, "per_class": each, "total": total},
        f"{name}:average=macro{options}": {"value": macro, "count": len(y)},
        f"{name}:average=micro{options}": {"value": micro},
        f"{name}:average=weighted{options}": {"value": weighted},
        f"{name}:average=none{options}": {"value": each, "total": total},
    }
    if len(each) > 1:
        made[f"{name}:average=binary{options}"] = {"value": each[1]}
    return made


def of_decisions(y, p, classes):
    named = list(range(classes))
    made = {"balanced_accuracy": {"value": float(sk.balanced_accuracy_score(y, p)), "count": len(y)}}
    scores = [
        ("precision", "", lambda **k: sk.precision_score(y, p, zero_division=0, **k)),
        ("recall", "", lambda **k: sk.recall_score(y, p, zero_division=0, **k)),
        ("f1", "", lambda **k: sk.f1_score(y, p, zero_division=0, **k)),
        ("fbeta", ":beta=2", lambda **k: sk.fbeta_score(y, p, beta=2, zero_division=0, **k)),
        ("fbeta", ":beta=0.5", lambda **k: sk.fbeta_score(y, p, beta=0.5, zero_division=0, **k)),
    ]
    for name, options, score in scores:
        each = score(labels=named, average=None)
        mean = {a: float(score(average=a)) for a in ("macro", "micro", "weighted")}
        made |= averages(name, each, mean["macro"], mean["micro"], mean["weighted"], y, options)
    if classes > 1:
        exact, micro, macro = per_class_specificity(y, p, classes)
        total = np.bincount(y, minlength=classes)
        made |= averages("specificity", exact[:classes], macro, micro, float((exact[:classes] * total).sum() / total.sum()), y)
    clipped = np.minimum(p, classes)
    made["matthews"] = {"value": float(sk.matthews_corrcoef(y, clipped)), "count": len(y)}
    for weights in ("none", "linear", "quadratic"):
        kappa = sk.cohen_kappa_score(y, clipped, labels=named + [classes], weights=None if weights == "none" else weights)
        made[f"cohen_kappa:weights={weights}"] = {"value": float(kappa), "count": len(y)}
    made["cohen_kappa"] = {"value": made["cohen_kappa:weights=none"]["value"]}
    return made


def calibration(confidence, right, bins, theirs):
    """docs/metrics.md in float64; torchmetrics computes in float32, and agrees to its accuracy."""
    place = np.minimum(np.floor(confidence * bins), bins - 1)
    gaps = [(abs(right[place == b].mean() - confidence[place == b].mean()), (place == b).mean()) for b in set(place.tolist())]
    made = {"ece": float(sum(gap * share for gap, share in gaps)), "mce": float(max(gap for gap, _ in gaps)), "count": len(right)}
    if (confidence < 1).all():
        assert abs(theirs("l1").item() - made["ece"]) < 1e-5 and abs(theirs("max").item() - made["mce"]) < 1e-5
    return made


# Scores: flags [N, L] of what is right, scores [N, L] to rank.


def curves(name, score, flags, ranked, options, binary, count):
    each = [score(flags[:, j], ranked[:, j]) for j in range(flags.shape[1])]
    positives = flags.sum(0)
    has_nan = np.isnan(ranked).any()
    mean = (lambda *_: NAN) if has_nan else mean_of_defined
    fields = {"per_class": each, "positives": positives.astype(int), "count": count}
    made = {
        f"{name}{options[0]}": {"value": mean(each)} | fields,
        f"{name}:average=weighted{options[1]}": {"value": mean(each, positives)},
        f"{name}:average=micro{options[1]}": {"value": score(flags.reshape(-1), ranked.reshape(-1))},
        f"{name}:average=none{options[1]}": fields,
        f"{name}:average=binary{options[1]}": {"value": each[1 if len(each) > 1 else 0]},
    }
    assert binary == (len(each) == 1)
    return made


def auroc(flags, scores):
    if np.isnan(scores).any() or flags.sum() in (0, len(flags)):
        return NAN
    return float(sk.roc_auc_score(flags, np.clip(scores, -1e300, 1e300)))


def average_precision(flags, scores):
    if np.isnan(scores).any() or flags.sum() == 0:
        return NAN
    return float(sk.average_precision_score(flags, np.clip(scores, -1e300, 1e300)))


def of_ranking(flags, ranked, probabilities, source, bins_options=""):
    made = {}
    for name, score in (("auroc", auroc), ("average_precision", average_precision)):
        made |= curves(name, score, flags, ranked, (source, source), flags.shape[1] == 1, len(flags))
        if np.isnan(probabilities).any():
            continue
        for bins in (4, 10):
            coarse = np.minimum(np.floor(probabilities * bins), bins - 1)
            options = f"{source}:bins={bins}{bins_options}"
            binned = curves(name, score, flags, coarse, (options, options), flags.shape[1] == 1, len(flags))
            made |= {m: fields | ({"bins": bins} if "count" in fields else {}) for m, fields in binned.items()}
    return made


def of_classes(outputs, labels, classes, are_probabilities):
    predicted = outputs.argmax(1)
    y, p = labels.numpy(), predicted.numpy()
    made = of_decisions(y, p, classes)
    wide = outputs.double()
    width = wide.shape[1]
    weight = (torch.arange(width, dtype=torch.float64) + 1) / 8
    text = "+".join(repr(w).removesuffix(".0") for w in weight.tolist())

    def loss(name, function, options, weighted, kept=None, **k):
        mean = function(wide, labels, **k).item()
        count = len(y) if kept is None else int(kept.sum())
        made[name + options] = {"mean": mean, "sum": function(wide, labels, reduction="sum", **k).item(), "count": count}
        if weighted:
            made[name + options]["weight"] = float(weight[labels if kept is None else labels[kept]].sum())

    kept = labels != 1
    for name, function in (("cross_entropy", F.cross_entropy), ("nll", F.nll_loss)):
        loss(name, function, f":weight={text}", True, weight=weight)
        loss(name, function, ":ignore_index=1", False, kept, ignore_index=1)
        loss(name, function, f":ignore_index=1:weight={text}", True, kept, weight=weight, ignore_index=1)
    loss("cross_entropy", F.cross_entropy, ":label_smoothing=0.1", False, label_smoothing=0.1)
    everything = f":ignore_index=1:label_smoothing=0.25:weight={text}"
    loss("cross_entropy", F.cross_entropy, everything, True, kept, weight=weight, ignore_index=1, label_smoothing=0.25)
    hits = (predicted == labels)[kept]
    made["accuracy:ignore_index=1"] = {"value": float(hits.double().mean()) if len(hits) else NAN, "correct": int(hits.sum()), "total": len(hits)}
    if are_probabilities is None:
        return made
    source = ":from=probabilities" if are_probabilities else ":from=logits"
    probabilities = wide if are_probabilities else wide.softmax(1)
    flags = F.one_hot(labels, width).numpy()
    if are_probabilities:
        value = float(sk.log_loss(y, probabilities.numpy(), labels=list(range(width)))) if width > 1 else 0.0
    else:
        value = F.cross_entropy(wide, labels).item()
    made["log_loss" + source] = {"mean": value, "count": len(y)}
    if not probabilities.isnan().any():
        half = 0.5 if width == 2 else 1.0
        brier = sk.brier_score_loss(y, probabilities.numpy() / probabilities.numpy().sum(1, keepdims=True), labels=list(range(width)), scale_by_half=False)
        made["brier" + source] = {"mean": float(brier) * half, "count": len(y)}
        for bins in (15, 4):
            made["calibration_error" + source + (":bins=4" if bins == 4 else "")] = calibration(
                probabilities.max(1).values.numpy(), (probabilities.argmax(1) == labels).double().numpy(), bins,
                lambda norm: tm.multiclass_calibration_error(probabilities, labels, num_classes=width, n_bins=bins, norm=norm),
            )
    if width == 2:
        ranked = probabilities[:, 1:] if are_probabilities else wide[:, 1:] - wide[:, :1]
        flags, binned = flags[:, 1:], (probabilities if are_probabilities else (wide[:, 1:] - wide[:, :1]).sigmoid()).numpy()[:, -1:]
        return made | of_ranking(flags, ranked.numpy(), binned, source)
    columns = min(width, classes) if classes > 2 else width
    return made | of_ranking(flags[:, :columns], probabilities.numpy()[:, :columns], probabilities.numpy()[:, :columns], source)


def of_binary(outputs, labels, are_probabilities):
    wide = outputs.double().reshape(-1)
    y = labels.reshape(-1).long().numpy()
    source = ":from=probabilities" if are_probabilities else ":from=logits"
    probabilities = wide if are_probabilities else wide.sigmoid()
    target = torch.tensor(y, dtype=torch.float64)
    made = {}
    if labels.dtype == torch.int64:
        threshold = 0.5 if are_probabilities else 0
        p = (wide > threshold).long().numpy()
        for name, fields in of_decisions(y, p, 2).items():
            head, _, rest = name.partition(":")
            options = [o for o in rest.split(":") if o] + [f"threshold={threshold}"]
            made[":".join([head] + options)] = fields
        made[f"accuracy:threshold={threshold}"] = {"value": float(sk.accuracy_score(y, p)), "total": len(y)}
        matrix = sk.confusion_matrix(y, p, labels=[0, 1])
        made[f"confusion_matrix:threshold={threshold}"] = {"label_0": matrix[0], "label_1": matrix[1], "other": [0, 0]}
        made[f"per_class_accuracy:threshold={threshold}"] = {"value": sk.recall_score(y, p, labels=[0, 1], average=None, zero_division=NAN)}
    if are_probabilities:
        value = float(F.binary_cross_entropy(wide, target))
    else:
        value = float(F.binary_cross_entropy_with_logits(wide, target))
    made["log_loss" + source] = {"mean": value, "count": len(y)}
    if not probabilities.isnan().any():
        made["brier" + source] = {"mean": float(sk.brier_score_loss(y, probabilities.numpy(), labels=[0, 1])), "count": len(y)}
        for bins in (15, 4):
            made["calibration_error" + source + (":bins=4" if bins == 4 else "")] = calibration(
                probabilities.numpy(), y.astype(float), bins,
                lambda norm: tm.binary_calibration_error(probabilities, torch.tensor(y), n_bins=bins, norm=norm),
            )
    return made | of_ranking(y.reshape(-1, 1), wide.numpy().reshape(-1, 1), probabilities.numpy().reshape(-1, 1), source, ":labels=1")


def of_labels(outputs, labels):
    wide, flags = outputs.double().numpy(), labels.long().numpy()
    p = (wide > 0).astype(int)
    width = flags.shape[1]
    made = {
        "subset_accuracy:threshold=0": {"value": float(sk.accuracy_score(flags, p)), "total": len(flags)},
        "hamming_loss:threshold=0": {"value": float(sk.hamming_loss(flags, p)), "total": flags.size},
        "multilabel_accuracy:threshold=0": {"value": 1 - float(sk.hamming_loss(flags, p)), "total": flags.size},
        "log_loss:from=logits": {"mean": F.binary_cross_entropy_with_logits(outputs.double(), labels.double()).item(), "count": flags.size},
    }
    if not np.isnan(wide).any():
        micro = tm.multilabel_accuracy(torch.tensor(wide).sigmoid(), labels.long(), num_labels=width, average="micro").item()
        assert abs(micro - made["multilabel_accuracy:threshold=0"]["value"]) < 1e-6
    probabilities = outputs.double().sigmoid().numpy()
    made |= of_ranking(flags, wide, probabilities, ":from=logits", f":labels={width}")
    each = [average_precision(flags[:, j], wide[:, j]) for j in range(width)]
    made["mean_average_precision"] = {"value": NAN if np.isnan(wide).any() else mean_of_defined(each), "per_class": each, "count": len(flags)}
    return made


def of_tokens(outputs, labels, bytes_each, ignored):
    wide = outputs.double()
    options = "" if ignored == -100 else f":ignore_index={ignored}"

    def values(logits, target, more):
        flat, wanted = logits.reshape(-1, wide.shape[-1]), target.reshape(-1)
        kept = wanted != ignored
        total = F.cross_entropy(flat, wanted, ignore_index=ignored, reduction="sum").item()
        count = int(kept.sum())
        mean = total / count if count else NAN
        if count and target.dim() == 2 and not wide.isnan().any() and wide.isfinite().all():
            theirs = perplexity(logits, target, ignore_index=ignored).item()
            assert abs(theirs - math.exp(mean)) < 1e-4 * theirs, (theirs, math.exp(mean))
        hits = int((flat.argmax(1) == wanted)[kept].sum())
        made = {
            "perplexity" + more: {"value": math.exp(mean) if mean < 700 or math.isnan(mean) else INF, "mean_loss": mean, "count": count},
            "token_accuracy" + more: {"value": hits / count if count else NAN, "correct": hits, "total": count},
        }
        if bytes_each is not None:
            bits = total / math.log(2)
            made["bits_per_byte" + more] = {"value": bits / int(bytes_each.sum()), "bits": bits, "bytes": int(bytes_each.sum()), "count": count}
        return made

    made = values(wide, labels, options)
    if wide.dim() == 3:
        made |= values(wide[:, :-1], labels[:, 1:], options + ":shift=1")
    return made


def of_numbers(outputs, labels):
    x, y = outputs.double().reshape(len(outputs), -1).numpy(), labels.double().reshape(len(labels), -1).numpy()
    mse = F.mse_loss(torch.tensor(x), torch.tensor(y)).item()
    made = {
        "rmse": {"value": math.sqrt(mse), "mse": mse, "count": x.size},
        "mae": {"mean": F.l1_loss(torch.tensor(x), torch.tensor(y)).item(), "count": x.size},
        "mse": {"mean": mse, "count": x.size},
    }
    if x.shape[1] > 1:
        return made
    x, y = x[:, 0], y[:, 0]
    known = np.isfinite(x).all() and len(x) > 1
    without_limit = np.isinf(x).any() and not np.isnan(x).any()
    made["r2"] = {"value": float(sk.r2_score(y, x)) if known else -INF if without_limit else NAN, "count": len(x)}
    made["pearson"] = {"value": float(scipy.stats.pearsonr(x, y).statistic) if known else NAN, "count": len(x)}
    ranked = not np.isnan(x).any() and len(x) > 1
    made["spearman"] = {"value": float(scipy.stats.spearmanr(x, y).statistic) if ranked else NAN, "count": len(x)}
    return made


# Intervals: the draws are those of docs/metrics.md, the values those of the packages.


def split_mix(seed, k):
    z = (seed + k * 0x9E3779B97F4A7C15) % 2**64
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) % 2**64
    return z ^ (z >> 31)


def interval(value_of, samples, confidence, resamples, seed):
    values = []
    for resample in range(1, resamples + 1):
        own = split_mix(seed, resample)
        drawn = np.array([((split_mix(own, k) >> 32) * samples) >> 32 for k in range(1, samples + 1)])
        values.append(value_of(drawn))
    values = [v for v in values if not math.isnan(v)]
    low, high = np.quantile(values, [(1 - confidence) / 2, 1 - (1 - confidence) / 2]) if values else (NAN, NAN)
    return {"low": float(low), "high": float(high), "confidence": confidence, "resamples": len(values)}


def with_intervals(values, samples):
    made = {}
    for at, (name, value_of) in enumerate(values.items()):
        confidence, resamples, seed = [(0.95, 200, 0), (0.9, 100, 7), (0.5, 60, 2**40)][at % 3]
        options = f":confidence={confidence}:resamples={resamples}:seed={seed}"
        made[name + options] = interval(value_of, samples, confidence, resamples, seed)
    return made


def class_intervals(outputs, labels):
    wide, y = outputs.double(), labels.numpy()
    p = outputs.argmax(1).numpy()
    softmax = wide.softmax(1).numpy()
    flags = F.one_hot(labels, wide.shape[1]).numpy()
    weight = (torch.arange(wide.shape[1], dtype=torch.float64) + 1) / 8
    text = "+".join(repr(w).removesuffix(".0") for w in weight.tolist())
    return with_intervals(
        {
            "accuracy": lambda i: float(sk.accuracy_score(y[i], p[i])),
            "f1:average=macro": lambda i: float(sk.f1_score(y[i], p[i], average="macro", zero_division=0)),
            f"cross_entropy:weight={text}": lambda i: F.cross_entropy(wide[i], labels[i], weight=weight).item(),
            "matthews": lambda i: float(sk.matthews_corrcoef(y[i], p[i])),
            "auroc:average=macro": lambda i: mean_of_defined([auroc(flags[i, j], softmax[i, j]) for j in range(flags.shape[1])]),
            "average_precision:average=micro": lambda i: average_precision(flags[i].reshape(-1), softmax[i].reshape(-1)),
            "balanced_accuracy": lambda i: float(sk.balanced_accuracy_score(y[i], p[i])),
            "calibration_error:bins=5": lambda i: calibration(softmax[i].max(1), (softmax[i].argmax(1) == y[i]).astype(float), 5, lambda norm: tm.multiclass_calibration_error(torch.tensor(softmax[i]), labels[i], num_classes=wide.shape[1], n_bins=5, norm=norm))["ece"],
        },
        len(y),
    )


def binary_intervals(outputs, labels):
    wide, y = outputs.double().numpy(), labels.numpy()
    return with_intervals(
        {"auroc": lambda i: auroc(y[i], wide[i]), "average_precision": lambda i: average_precision(y[i], wide[i])}, len(y)
    )


def number_intervals(outputs, labels):
    x, y = outputs.double().numpy(), labels.double().numpy()
    return with_intervals(
        {
            "spearman": lambda i: float(scipy.stats.spearmanr(x[i], y[i]).statistic),
            "pearson": lambda i: float(scipy.stats.pearsonr(x[i], y[i]).statistic),
            "r2": lambda i: float(sk.r2_score(y[i], x[i])),
            "rmse": lambda i: math.sqrt(sk.mean_squared_error(y[i], x[i])),
        },
        len(y),
    )


class Cases:
    def __init__(self):
        self.all = []
        self.draw = torch.Generator().manual_seed(49)

    def numbers(self, *shape, scale=8):
        return (torch.randn(*shape, generator=self.draw) * scale).round().clamp(-60, 60) / 4

    def labels(self, below, *shape):
        return torch.randint(below, shape, generator=self.draw)

    def add(self, name, dtype, outputs, labels, metrics, classes=0, **more):
        """`metrics`: of outputs in the dtype of the case, and of labels."""
        typed = outputs.to(DTYPES[dtype])
        case = {"name": name, "dtype": dtype, "classes": classes, "shape": list(typed.shape)}
        case["outputs"] = plain(typed.double().reshape(-1).tolist())
        case["label_shape"] = list(labels.shape)
        case["label_type"] = "float32" if labels.is_floating_point() else "int64"
        case["labels"] = plain(labels.reshape(-1).tolist())
        case |= {key: plain(value) for key, value in more.items()}
        case["metrics"] = {m: {f: plain(v) for f, v in fields.items()} for m, fields in metrics(typed, labels).items()}
        self.all.append(case)


def strewn(numbers, *odd):
    for place, value in odd:
        numbers.reshape(-1)[place] = value
    return numbers


def class_cases(cases):
    def of(classes, are_probabilities=False):
        return lambda o, y: of_classes(o, y, classes, are_probabilities)

    for dtype in DTYPES:
        cases.add(f"five classes, {dtype}", dtype, cases.numbers(30, 5), cases.labels(5, 30), of(5), 5)
        cases.add(f"two columns, {dtype}", dtype, cases.numbers(20, 2), cases.labels(2, 20), of(2), 2)
        cases.add(f"ties, {dtype}", dtype, cases.numbers(24, 3, scale=1).round(), cases.labels(3, 24), of(3), 3)
        odd = strewn(cases.numbers(16, 4), (3, NAN), (17, INF), (22, -INF), (41, NAN), (42, INF))
        cases.add(f"NaN and infinities, {dtype}", dtype, odd, cases.labels(4, 16), of(4, None), 4)
    odd = strewn(cases.numbers(12, 4), (3, -INF), (18, -INF))
    cases.add("-infinity", "float64", odd, cases.labels(4, 12), of(4), 4)
    soft = torch.softmax(cases.numbers(18, 3, scale=2).double(), 1)
    cases.add("probabilities", "float64", soft, cases.labels(3, 18), of(3, True), 3)
    soft = torch.softmax(cases.numbers(18, 2, scale=2).double(), 1)
    cases.add("two columns of probabilities", "float64", soft, cases.labels(2, 18), of(2, True), 2)
    cases.add("predictions above the greatest label", "float32", cases.numbers(32, 9), cases.labels(3, 32), of(3), 3)
    cases.add("a class without samples", "float32", cases.numbers(16, 5), cases.labels(2, 16) * 3, of(5), 5)
    cases.add("one class occurs", "float32", cases.numbers(6, 3), torch.full((6,), 1), of(3), 3)
    cases.add("one label, one prediction", "float32", torch.eye(3)[[1, 1, 1]], torch.full((3,), 1), of(3), 3)
    cases.add("one class", "float32", cases.numbers(5, 1), torch.zeros(5, dtype=torch.long), of(1, None), 1)
    cases.add("one sample", "float32", cases.numbers(1, 4), torch.tensor([2]), of(4), 4)
    cases.add("huge logits", "float64", cases.numbers(10, 5) * 1e300, cases.labels(5, 10), of(5, None), 5)
    cases.add("intervals of classes", "float64", cases.numbers(36, 4, scale=4) / 2, cases.labels(4, 36), class_intervals, 4)


def binary_cases(cases):
    for dtype in DTYPES:
        cases.add(f"one logit, {dtype}", dtype, cases.numbers(24), cases.labels(2, 24), lambda o, y: of_binary(o, y, False), 2)
        cases.add(f"one logit, one column, {dtype}", dtype, cases.numbers(15, 1), cases.labels(2, 15, 1), lambda o, y: of_binary(o, y, False), 2)
    chances = (torch.rand(20, generator=cases.draw) * 63).round() / 64 + 1 / 128
    cases.add("one probability", "float32", chances, cases.labels(2, 20), lambda o, y: of_binary(o, y, True), 2)
    cases.add("float labels", "float32", cases.numbers(12, 1), cases.labels(2, 12, 1).float(), lambda o, y: of_binary(o, y, False))
    cases.add("ties of logits", "float32", cases.numbers(30, scale=1).round(), cases.labels(2, 30), lambda o, y: of_binary(o, y, False), 2)
    cases.add("all equal", "float32", torch.zeros(8), cases.labels(2, 8), lambda o, y: of_binary(o, y, False), 2)
    cases.add("infinite logits", "float64", strewn(cases.numbers(12), (0, INF), (1, -INF), (2, INF)), torch.tensor([1, 0, 1, 0, 1, 0, 1, 0, 1, 1, 0, 0]), lambda o, y: {k: v for k, v in of_binary(o, y, False).items() if "calibration" not in k and "log_loss" not in k}, 2)
    cases.add("only label 1", "float32", cases.numbers(6), torch.ones(6, dtype=torch.long), lambda o, y: of_binary(o, y, False), 2)
    cases.add("one positive sample", "float32", torch.tensor([0.25]), torch.ones(1, dtype=torch.long), lambda o, y: of_binary(o, y, False), 2)
    cases.add("NaN", "float32", strewn(cases.numbers(8), (3, NAN)), cases.labels(2, 8), lambda o, y: of_binary(o, y, False), 2)
    cases.add("saturated logits", "float64", cases.numbers(16) * 100, cases.labels(2, 16), lambda o, y: {k: v for k, v in of_binary(o, y, False).items() if "calibration" not in k}, 2)
    cases.add("intervals of two classes", "float32", cases.numbers(30, scale=4) / 2, cases.labels(2, 30), binary_intervals, 2)


def label_cases(cases):
    for dtype in DTYPES:
        cases.add(f"labels, {dtype}", dtype, cases.numbers(14, 3), cases.labels(2, 14, 3), of_labels)
    cases.add("labels as floats", "float32", cases.numbers(10, 4), cases.labels(2, 10, 4).float(), of_labels)
    flags = cases.labels(2, 9, 3)
    flags[:, 1] = 0
    cases.add("a label that never occurs", "float32", cases.numbers(9, 3), flags, of_labels)
    flags = flags.clone()
    flags[:, 2] = 1
    cases.add("a label that always occurs", "float32", cases.numbers(9, 3, scale=1).round(), flags, of_labels)
    cases.add("no label occurs", "float32", cases.numbers(4, 2), torch.zeros(4, 2, dtype=torch.long), of_labels)
    cases.add("one sample of labels", "float32", cases.numbers(1, 5), cases.labels(2, 1, 5), of_labels)
    cases.add("labels and NaN", "float32", strewn(cases.numbers(8, 2), (5, NAN)), cases.labels(2, 8, 2), of_labels)
    wide = cases.labels(2, 3, 70)
    cases.add("70 labels", "float32", cases.numbers(3, 70), wide, lambda o, y: {k: v for k, v in of_labels(o, y).items() if k in ("mean_average_precision", "hamming_loss:threshold=0")})


def token_cases(cases):
    def add(name, dtype, outputs, labels, ignored=-100, is_bytes=True):
        each = cases.labels(20, len(outputs)) + 1
        more = {"bytes": each.tolist()} if is_bytes else {}
        cases.add(name, dtype, outputs, labels, lambda o, y: of_tokens(o, y, each if is_bytes else None, ignored), **more)

    def masked(labels, value=-100):
        return labels.masked_fill(torch.rand(labels.shape, generator=cases.draw) < 0.3, value)

    for dtype in DTYPES:
        add(f"tokens, {dtype}", dtype, cases.numbers(5, 4, 6), masked(cases.labels(6, 5, 4)))
    add("tokens, other padding", "float32", cases.numbers(4, 5, 4), masked(cases.labels(4, 4, 5), 0), ignored=0)
    add("tokens without positions", "float32", cases.numbers(12, 5), masked(cases.labels(5, 12)))
    add("one position", "float32", cases.numbers(6, 1, 3), cases.labels(3, 6, 1))
    add("all ignored", "float32", cases.numbers(3, 4, 3), torch.full((3, 4), -100))
    add("one sample of tokens", "float64", cases.numbers(1, 7, 5), cases.labels(5, 1, 7))
    add("tokens and infinity", "float32", strewn(cases.numbers(3, 4, 4), (5, -INF), (20, NAN)), cases.labels(4, 3, 4))
    add("one class of tokens", "float32", cases.numbers(3, 4, 1), torch.zeros(3, 4, dtype=torch.long))


def number_cases(cases):
    for dtype in DTYPES:
        cases.add(f"pairs, {dtype}", dtype, cases.numbers(25), cases.numbers(25), of_numbers)
    related = cases.numbers(30)
    cases.add("related pairs", "float64", related + cases.numbers(30, scale=2), related.float(), of_numbers)
    cases.add("pairs with ties", "float32", cases.numbers(20, scale=1).round(), cases.numbers(20, scale=1).round(), of_numbers)
    cases.add("one column", "float32", cases.numbers(9, 1), cases.labels(9, 9, 1), of_numbers)
    cases.add("three columns", "float32", cases.numbers(7, 3), cases.numbers(7, 3), of_numbers)
    cases.add("equal labels", "float32", cases.numbers(6), torch.full((6,), 2.0), of_numbers)
    cases.add("equal outputs", "float32", torch.full((6,), 2.0), cases.numbers(6), of_numbers)
    cases.add("equal to the labels", "float32", torch.full((6,), 2.0), torch.full((6,), 2.0), of_numbers)
    cases.add("one pair", "float32", cases.numbers(1), cases.numbers(1), of_numbers)
    cases.add("two pairs", "float32", torch.tensor([1.0, 2.5]), torch.tensor([3.0, 2.0]), of_numbers)
    cases.add("pairs and NaN", "float32", strewn(cases.numbers(7), (2, NAN)), cases.numbers(7), of_numbers)
    cases.add("pairs and infinity", "float32", strewn(cases.numbers(7), (2, INF), (4, -INF)), cases.numbers(7), of_numbers)
    cases.add("far from zero", "float64", cases.numbers(12) + 2.0**30, (cases.numbers(12) + 2.0**10), of_numbers)
    cases.add("intervals of pairs", "float64", related + cases.numbers(30, scale=4), related.float(), number_intervals)


def main():
    warnings.simplefilter("ignore")
    cases = Cases()
    for add in (class_cases, binary_cases, label_cases, token_cases, number_cases):
        add(cases)
    packages = (torch, torchmetrics, sklearn, scipy, np)
    made_by = ", ".join(f"{each.__name__} {each.__version__}" for each in packages)
    lines = [json.dumps(each, separators=(",", ":")) for each in cases.all]
    text = '{"made_by":' + json.dumps(made_by) + ',"cases":[\n' + ",\n".join(lines) + "\n]}\n"
    (pathlib.Path(__file__).parent / "named.json").write_text(text)


main()
