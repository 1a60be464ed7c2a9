"""Writes pictures, and what torchvision's evaluation transforms make of them, for pixels_test.cpp.

    python3 pictures.py recorded          the pictures and cases.json beside this script
    python3 pictures.py random FOLDER     the same of other sizes and contents each time

Needs Pillow, torchvision and NumPy. A case has a picture, the transforms, and the CRC-32 of the float32 tensor that
torchvision gives for `PIL.Image.open(file).convert("RGB")`.
"""

import json
import os
import random
import struct
import sys
import zlib

import numpy
import torchvision.transforms as transforms
from PIL import Image
from torchvision.transforms import InterpolationMode

FILTERS = {"box": InterpolationMode.BOX, "bilinear": InterpolationMode.BILINEAR, "bicubic": InterpolationMode.BICUBIC,
           "lanczos": InterpolationMode.LANCZOS}
ADAM7 = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]


def content(draw, height, width, channels):
    """Ramps, an edge and noise."""
    noise = numpy.random.default_rng(draw.randrange(1 << 30)).integers(0, 256, (height, width, channels))
    y, x = numpy.mgrid[0:height, 0:width]
    ramps = numpy.stack([(x * (3 + c) + y * (7 - c)) % 256 for c in range(channels)], axis=2)
    ramps[(x + 2 * y) % 23 < 5] = 255
    amount = draw.choice([0.0, 0.1, 0.9])
    return (ramps * (1 - amount) + noise * amount).astype(numpy.uint8)


def chunk(name, body):
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def packed(rows, bits):
    """Rows of numbers [height, width * channels] as the bytes of a PNG, each row with filter 0."""
    data = b""
    for row in rows:
        if bits == 16:
            data += b"\0" + row.astype(">u2").tobytes()
        else:
            binary = "".join(format(int(v), "0%db" % bits) for v in row)
            binary += "0" * (-len(binary) % 8)
            data += b"\0" + int(binary, 2).to_bytes(len(binary) // 8, "big")
    return data


def write_png(path, numbers, bits, colour, interlaced=False, extra=b""):
    """What Pillow cannot write: 16-bit colours, few bits, interlacing."""
    height, width, channels = numbers.shape
    if interlaced:
        data = b""
        for x, y, dx, dy in ADAM7:
            part = numbers[y::dy, x::dx]
            if part.shape[0] and part.shape[1]:
                data += packed(part.reshape(part.shape[0], -1), bits)
    else:
        data = packed(numbers.reshape(height, -1), bits)
    header = struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, 1 if interlaced else 0)
    with open(path, "wb") as out:
        out.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + extra + chunk(b"IDAT", zlib.compress(data)) +
                  chunk(b"IEND", b""))


def write_pngs(draw, folder, size):
    names = []

    def add(name, write):
        write(os.path.join(folder, name))
        names.append(name)

    for mode, channels in [("L", 1), ("LA", 2), ("RGB", 3), ("RGBA", 4)]:
        height, width = size()
        pixels = content(draw, height, width, channels)
        add("pillow_%s.png" % mode.lower(), Image.fromarray(pixels[:, :, 0] if channels == 1 else pixels, mode).save)
    height, width = size()
    add("pillow_1.png", Image.fromarray(content(draw, height, width, 1)[:, :, 0]).convert("1").save)
    add("pillow_p.png", Image.fromarray(content(draw, height, width, 3)).quantize(colors=13).save)
    for colour, channels, name in [(0, 1, "grey"), (2, 3, "rgb"), (4, 2, "grey_alpha"), (6, 4, "rgba"), (3, 1, "palette")]:
        depths = [1, 2, 4, 8, 16] if colour == 0 else [1, 2, 4, 8] if colour == 3 else [8, 16]
        for bits in depths:
            for interlaced in [False, True]:
                height, width = size()
                draws = numpy.random.default_rng(draw.randrange(1 << 30))
                numbers = draws.integers(0, 1 << bits, (height, width, channels))
                if bits == 16 and colour == 0:
                    numbers = numpy.where(numbers % 3 == 0, numbers % 300, numbers)
                # Shorter than the indexes may be.
                entries = max(1, (1 << bits) * 3 // 4)
                extra = chunk(b"PLTE", draws.integers(0, 256, 3 * entries).astype(numpy.uint8).tobytes()) if colour == 3 else b""
                if colour == 2 and bits == 8:
                    extra = chunk(b"tRNS", struct.pack(">HHH", 1, 2, 3))
                add("%s_%d%s.png" % (name, bits, "_interlaced" if interlaced else ""),
                    lambda path, n=numbers, b=bits, c=colour, i=interlaced, e=extra: write_png(path, n, b, c, i, e))
    return names


def write_jpegs(draw, folder, size):
    names = []

    def add(name, mode, **options):
        height, width = size()
        channels = {"L": 1, "RGB": 3, "CMYK": 4}[mode]
        pixels = content(draw, height, width, channels)
        picture = Image.fromarray(pixels[:, :, 0] if channels == 1 else pixels, mode)
        picture.save(os.path.join(folder, name), "JPEG", **options)
        names.append(name)

    orientation = Image.Exif()
    orientation[0x0112] = 6
    add("grey.jpg", "L", quality=draw.choice([30, 80, 95]))
    add("grey_progressive.jpg", "L", progressive=True)
    for subsampling in ["4:4:4", "4:2:2", "4:2:0"]:
        short = subsampling.replace(":", "")
        add("rgb_%s.jpg" % short, "RGB", subsampling=subsampling, quality=draw.choice([5, 50, 90, 100]))
        add("rgb_%s_progressive.jpg" % short, "RGB", subsampling=subsampling, progressive=True, quality=75)
        add("rgb_%s_restarts.jpg" % short, "RGB", subsampling=subsampling, restart_marker_blocks=3, optimize=True)
    add("rgb_plain.jpg", "RGB", keep_rgb=True)
    add("cmyk.jpg", "CMYK", quality=85)
    add("cmyk_progressive.jpg", "CMYK", progressive=True)
    add("turned.jpeg", "RGB", exif=orientation)
    return names


def write_photographs(draw, folder):
    """Sizes as cameras and ImageNet have them: smooth, with some noise."""
    names = []
    for i, (height, width) in enumerate([(375, 500), (500, 333), (683, 1024), (1200, 90)]):
        small = Image.fromarray(content(draw, 12, 16, 3), "RGB").resize((width, height), Image.BICUBIC)
        noise = numpy.random.default_rng(draw.randrange(1 << 30)).integers(-6, 7, (height, width, 3))
        picture = Image.fromarray((numpy.asarray(small).astype(int) + noise).clip(0, 255).astype(numpy.uint8), "RGB")
        names.append("photograph_%d.jpg" % i)
        picture.save(os.path.join(folder, names[-1]), quality=draw.randrange(60, 97), progressive=i == 1)
    return names


def steps_of(draw):
    """Resize, crop, filter, mean and deviation."""
    side = draw.choice([None, 7, 16, 24, 33, 64, [20, 31], [45, 12]])
    crop = draw.choice([None, [16, 16], [15, 8], [33, 40], [70, 70], [1, 1]])
    normal = draw.choice([None, ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]), ([0.5] * 3, [0.5] * 3)])
    return {"resize": side, "crop": crop, "filter": draw.choice(sorted(FILTERS)), "mean": normal and normal[0],
            "std": normal and normal[1]}


def tensor_of(path, steps):
    chain = []
    if steps["resize"] is not None:
        chain.append(transforms.Resize(steps["resize"], FILTERS[steps["filter"]]))
    if steps["crop"] is not None:
        chain.append(transforms.CenterCrop(steps["crop"]))
    chain.append(transforms.ToTensor())
    if steps["mean"] is not None:
        chain.append(transforms.Normalize(steps["mean"], steps["std"]))
    return transforms.Compose(chain)(Image.open(path).convert("RGB")).numpy()


def make(folder, draw, size, cases_each, has_photographs):
    cases = []
    photographs = write_photographs(draw, folder) if has_photographs else []
    for name in write_pngs(draw, folder, size) + write_jpegs(draw, folder, size) + photographs:
        plain = {"resize": None, "crop": None, "filter": "bilinear", "mean": None, "std": None}
        for steps in [plain] + [steps_of(draw) for _ in range(cases_each)]:
            tensor = tensor_of(os.path.join(folder, name), steps)
            cases.append(dict(steps, file=name, size=list(tensor.shape[1:]), crc=zlib.crc32(tensor.tobytes())))
    lines = ",\n".join(json.dumps(case) for case in cases)
    with open(os.path.join(folder, "cases.json"), "w") as out:
        out.write("[\n" + lines + "\n]\n")


if __name__ == "__main__":
    if sys.argv[1] == "recorded":
        draw = random.Random(49)
        place = os.path.join(os.path.dirname(os.path.abspath(__file__)), "recorded")
        make(place, draw, lambda: (draw.randrange(9, 34), draw.randrange(9, 34)), 6, False)
    else:
        draw = random.Random()
        make(sys.argv[2], draw, lambda: (draw.choice([1, 2, draw.randrange(3, 120)]), draw.choice([1, 2, draw.randrange(3, 120)])), 12, True)
