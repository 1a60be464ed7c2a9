#!/usr/bin/env python3
"""Time of `troupe eval` with one and with several threads that read the data, on jobs whose data are most of the work:
JPEG pictures of 500 x 375 and a table in CSV, with a model of a few operations. Prints a table in Markdown.

Usage: python data_workers.py TROUPE FOLDER WHEEL [WORKERS [ROUNDS]]
       (torch 2.11, Pillow; the wheel of scikit-image 0.26 has the pictures)

FOLDER gets the files. In every round each number of threads has one run of each job, in an order that changes. A time is
what the result calls `wall_seconds`, which begins when the data are open; the last columns are the median and range of the
quotients within a round. Metrics must be equal.
"""
import io
import json
import pathlib
import random
import statistics
import subprocess
import sys
import zipfile

import torch
from PIL import Image

NAMES = ["astronaut.png", "chelsea.png", "coffee.png", "hubble_deep_field.jpg", "ihc.png", "motorcycle_left.png", "retina.jpg",
         "rocket.jpg"]
COPIES, ROWS, COLUMNS = 50, 60000, 60


class Mean(torch.nn.Module):
    """The mean of some numbers of a sample, once for each class."""

    def __init__(self, classes):
        super().__init__()
        self.classes = classes

    def forward(self, x):
        return x.flatten(1)[:, :self.classes].cumsum(1)


def make_files(folder, wheel):
    with zipfile.ZipFile(wheel) as archive:
        for name in NAMES:
            place = folder / "pictures" / name.split(".")[0]
            place.mkdir(parents=True, exist_ok=True)
            picture = Image.open(io.BytesIO(archive.read("skimage/data/" + name))).convert("RGB").resize((500, 375), Image.LANCZOS)
            for i in range(COPIES):
                picture.save(place / f"{i:03d}.JPEG", quality=75 + i % 3 * 10)
    torch.jit.trace(Mean(8), torch.randn(2, 3, 8, 8)).save(str(folder / "eight.pt"))
    numbers = random.Random(1)
    with open(folder / "table.csv", "w") as table:
        table.write(",".join(f"c{i}" for i in range(COLUMNS)) + ",label\n")
        for _ in range(ROWS):
            table.write(",".join(repr(numbers.gauss(0, 1)) for _ in range(COLUMNS)) + f",{numbers.randrange(8)}\n")


def run(troupe, folder, data, workers):
    done = subprocess.run([troupe, "eval", "--model", str(folder / "eight.pt"), "--data", data, "--data-workers", str(workers),
                           "--threads", "1", "--json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    result = json.loads(done.stdout)
    return result["wall_seconds"], result["samples"], result["metrics"]


def main():
    troupe, folder, wheel = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
    workers = [1, *map(int, sys.argv[4].split(","))] if len(sys.argv) > 4 else [1, 2]
    rounds = int(sys.argv[5]) if len(sys.argv) > 5 else 15
    make_files(folder, wheel)
    jobs = {"pictures": f"imagefolder:{folder / 'pictures'},resize=256,crop=224", "table": f"csv:{folder / 'table.csv'}"}
    print("| job | threads | least s | median s | most s | samples/s | faster than 1 by | range |\n|---|---|---|---|---|---|---|---|")
    for job, data in jobs.items():
        times, expected = {each: [] for each in workers}, None
        for turn in range(rounds):
            for each in workers[turn % len(workers):] + workers[:turn % len(workers)]:
                seconds, samples, metrics = run(troupe, folder, data, each)
                expected = expected or metrics
                assert metrics == expected, f"{job}: {each} threads gave other metrics"
                times[each].append(seconds)
        for each in workers:
            quotients = [one / more for one, more in zip(times[1], times[each])]
            middle = statistics.median(times[each])
            print(f"| {job} | {each} | {min(times[each]):.2f} | {middle:.2f} | {max(times[each]):.2f} | {samples / middle:.0f} "
                  f"| {statistics.median(quotients):.2f} | {min(quotients):.2f} to {max(quotients):.2f} |")


if __name__ == "__main__":
    main()
