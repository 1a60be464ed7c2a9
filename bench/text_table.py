#!/usr/bin/env python3
"""Troupe's tokenizers and those of the `tokenizers` package on one thread, which take turns: prints a table in Markdown.

Usage: python bench/text_table.py BIN/text_bench TOKENIZER.json TEXT [TOKENIZER.json TEXT ...]

A round is one call of each for all lines of the text, with ids and offsets; the package encodes line by line, and all
lines in one batch. The rounds begin with another contestant each, and the first one is discarded. "to the package" is
the median of the quotients of tokens per second within a round, to the faster of its two ways, with its range.
"""
import os
import statistics
import subprocess
import sys
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"
import tokenizers  # noqa: E402

ROUNDS = 12


def of_troupe(program, file, text):
    count, seconds = subprocess.run([program, file, text, "2"], check=True, capture_output=True, text=True).stdout.split("\n")[1].split()
    return int(count), float(seconds)


def of_package(tokenizer, lines, is_batch):
    start = time.perf_counter()
    if is_batch:
        encoded = tokenizer.encode_batch(lines)
    else:
        encoded = [tokenizer.encode(line) for line in lines]
    seconds = time.perf_counter() - start
    return sum(len(each.ids) for each in encoded), seconds


def measure(program, file, text):
    tokenizer = tokenizers.Tokenizer.from_file(file)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    with open(text, encoding="utf-8", newline="\n") as given:
        lines = given.read().split("\n")[:-1]
    turns = [lambda: of_troupe(program, file, text), lambda: of_package(tokenizer, lines, False), lambda: of_package(tokenizer, lines, True)]
    speeds = []
    for number in range(ROUNDS + 1):
        row = [None] * len(turns)
        for turn in range(len(turns)):
            index = (number + turn) % len(turns)
            count, seconds = turns[index]()
            row[index] = (count, count / seconds / 1e6)
        assert len({count for count, _ in row}) == 1, "the contestants count other tokens"
        speeds.append([speed for _, speed in row])
    return speeds[1:]


def main():
    print("tokenizers " + tokenizers.__version__ + "\n")
    print("| tokenizer | text | Troupe, million tokens/s | package, by line | package, batch | to the package | range |")
    print("|---|---|---|---|---|---|---|")
    for file, text in zip(sys.argv[2::2], sys.argv[3::2]):
        speeds = measure(sys.argv[1], file, text)
        medians = [statistics.median(row[i] for row in speeds) for i in range(3)]
        quotients = [row[0] / max(row[1:]) for row in speeds]
        cells = [os.path.basename(file)[:-5], os.path.basename(text)[:-4]] + ["%.2f" % median for median in medians]
        cells += ["%.1f" % statistics.median(quotients), "[%.1f, %.1f]" % (min(quotients), max(quotients))]
        print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
