"""Decode, resize to 256, cut to 224 and normalise JPEG pictures of 500 x 375 on one thread: Troupe and torchvision in turns.
Prints a table in Markdown.

Usage: python image_table.py BIN/image_bench FOLDER WHEEL
       (torch 2.11, torchvision 0.26, Pillow 13; the wheel of scikit-image 0.26 has the pictures)

FOLDER gets the pictures. In every round each contestant goes through all of them once; the rounds begin with another one
each. Times are those that the thread was on its core. The ratio is Troupe's speed to another contestant's in the same
round: its median and range.
"""

import io
import os
import statistics
import subprocess
import sys
import time
import zipfile

import torch
import torchvision
import torchvision.transforms as transforms
import torchvision.transforms.v2 as v2
from PIL import Image

ROUNDS = 41
NAMES = ["astronaut.png", "chelsea.png", "coffee.png", "hubble_deep_field.jpg", "ihc.png", "motorcycle_left.png", "retina.jpg",
         "rocket.jpg"]
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]

torch.set_num_threads(1)
program, folder, wheel = sys.argv[1:]
os.makedirs(folder, exist_ok=True)
with zipfile.ZipFile(wheel) as archive:
    for name in NAMES:
        picture = Image.open(io.BytesIO(archive.read("skimage/data/" + name))).convert("RGB")
        for i, quality in enumerate([75, 85, 95]):
            size = (500, 375) if i < 2 else (375, 500)
            picture.resize(size, Image.LANCZOS).save(os.path.join(folder, "%s-%d.jpg" % (name.split(".")[0], quality)), quality=quality)
paths = sorted(os.path.join(folder, each) for each in os.listdir(folder))

by_pil = transforms.Compose([transforms.Resize(256), transforms.CenterCrop(224), transforms.ToTensor(),
                             transforms.Normalize(MEAN, STD)])
by_tensor = v2.Compose([v2.Resize(256, antialias=True), v2.CenterCrop(224), v2.ToDtype(torch.float32, scale=True),
                        v2.Normalize(MEAN, STD)])
child = subprocess.Popen([program, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def run_troupe():
    child.stdin.write("\n")
    child.stdin.flush()
    return float(child.stdout.readline())


def timed(work):
    start = time.thread_time()
    for path in paths:
        work(path)
    return (time.thread_time() - start) * 1e3


CONTESTANTS = {
    "Troupe": run_troupe,
    "Pillow and torchvision.transforms": lambda: timed(lambda path: by_pil(Image.open(path).convert("RGB"))),
    "torchvision.io.decode_jpeg and transforms.v2":
        lambda: timed(lambda path: by_tensor(torchvision.io.decode_jpeg(torchvision.io.read_file(path)))),
}
names = list(CONTESTANTS)
times = {name: [] for name in names}
for run in CONTESTANTS.values():
    run()
for turn in range(ROUNDS):
    for i in range(len(names)):
        name = names[(turn + i) % len(names)]
        times[name].append(CONTESTANTS[name]() / len(paths))

print("%d pictures, %d rounds, load %.1f" % (len(paths), ROUNDS, os.getloadavg()[0]))
print("\n| | least ms | median ms | most ms | per second | Troupe is faster by | range |\n|---|---|---|---|---|---|---|")
for name in names:
    of = times[name]
    ratios = sorted(other / own for other, own in zip(of, times["Troupe"]))
    print("| %s | %.2f | %.2f | %.2f | %.0f | %.2f | %.2f to %.2f |" % (name, min(of), statistics.median(of), max(of),
          1e3 / statistics.median(of), statistics.median(ratios), ratios[0], ratios[-1]))
