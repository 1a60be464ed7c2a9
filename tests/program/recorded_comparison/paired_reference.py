"""Writes paired_reference.json beside this script: differences of pairs of models as numpy and scipy compute them.

    pip install numpy==2.4.6 scipy==1.17.1 && python paired_reference.py

The samples of each resample are drawn as docs/watch.md says; everything else is numpy's and scipy's.
"""
import json
import os

import numpy as np
import scipy.stats

MASK = 2**64 - 1


def mix(z):
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def resamples(seed, samples, count):
    state = seed
    for _ in range(count):
        drawn = []
        for _ in range(samples):
            state = (state + 0x9E3779B97F4A7C15) & MASK
            drawn.append((mix(state) * samples) >> 64)
        yield np.array(drawn)


def case(seed, samples, count, rng):
    first = rng.integers(0, 2, samples)
    other = np.where(rng.random(samples) < 0.8, first, rng.integers(0, 2, samples))
    losses = rng.exponential(size=(2, samples))
    differences = {"right": [], "loss": []}
    for drawn in resamples(seed, samples, count):
        differences["right"].append(np.mean(other[drawn]) - np.mean(first[drawn]))
        differences["loss"].append(np.mean(losses[1][drawn]) - np.mean(losses[0][drawn]))
    made = {"seed": seed, "first": first.tolist(), "other": other.tolist(), "losses": losses.tolist(), "resamples": count}
    for name, values in differences.items():
        low, high = np.quantile(values, [0.025, 0.975])
        made[name] = {"low": low, "high": high, "standard_error": np.std(values, ddof=1)}
    only_first = int(np.sum((first == 1) & (other == 0)))
    only_other = int(np.sum((first == 0) & (other == 1)))
    both = only_first + only_other
    p = scipy.stats.binomtest(only_first, both).pvalue if both else 1.0
    made["mcnemar"] = {"only_first": only_first, "only_this": only_other, "p": p}
    # scipy draws samples of its own: its interval is near, not equal
    paired = scipy.stats.bootstrap((losses[1] - losses[0],), np.mean, method="percentile", n_resamples=9999, rng=1)
    made["scipy_loss"] = {"low": paired.confidence_interval.low, "high": paired.confidence_interval.high,
                          "standard_error": paired.standard_error}
    return made


rng = np.random.default_rng(7)
cases = [case(0, 40, 200, rng), case(12345678901234567, 97, 1000, rng), case(3, 2, 10, rng), case(9, 500, 400, rng)]
tests = [[a, b, scipy.stats.binomtest(a, a + b).pvalue if a + b else 1.0]
         for a, b in [(0, 0), (0, 1), (1, 1), (0, 10), (12, 22), (100, 140), (5000, 5200), (30000, 31000)]]
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "paired_reference.json"), "w") as file:
    json.dump({"cases": cases, "mcnemar": tests}, file)
    file.write("\n")
