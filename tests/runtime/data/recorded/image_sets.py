"""Writes folders and tar shards of pictures, presets, and what torchvision and transformers make of them, for
image_sets_test.cpp: python3 image_sets.py, with Pillow, torchvision, transformers and NumPy. All lie in image_sets/.

A case is the data as Troupe names them ("{}" is the folder), the labels, and the CRC-32 of all samples as float32.
"""

import io
import json
import os
import shutil
import tarfile
import warnings
import zlib

import numpy
import torchvision.datasets as datasets
import torchvision.transforms as transforms
import transformers
from PIL import Image
from torchvision.transforms import InterpolationMode

warnings.filterwarnings("ignore")
place = os.path.join(os.path.dirname(os.path.abspath(__file__)), "image_sets")
numbers = numpy.random.default_rng(49)


def picture(width, height, mode="RGB"):
    channels = {"L": 1, "RGB": 3, "RGBA": 4}[mode]
    y, x = numpy.mgrid[0:height, 0:width]
    pixels = numpy.stack([(x * (5 + c) + y * (9 - c)) % 256 for c in range(channels)], axis=2).astype(numpy.uint8)
    pixels[numbers.random((height, width)) < 0.2] = 255
    return Image.fromarray(pixels[:, :, 0] if channels == 1 else pixels, mode)


def write_folder():
    for name, size, mode in [("b cat/2.png", (31, 40), "RGB"), ("b cat/10.JPG", (44, 30), "RGB"), ("b cat/x/1.png", (20, 20), "L"),
                             ("b cat/x-1/1.jpeg", (61, 22), "RGB"), ("Dog/a.png", (25, 57), "RGBA"), ("Dog/b.jpg", (33, 33), "L"),
                             ("axolotl/only.jpg", (24, 90), "RGB")]:
        path = os.path.join(place, "folder", name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        picture(*size, mode).save(path, "JPEG" if name.lower().endswith(("jpg", "jpeg")) else "PNG")
    with open(os.path.join(place, "folder", "Dog", "notes.txt"), "w") as out:
        out.write("no picture\n")
    with open(os.path.join(place, "folder", "README"), "w") as out:
        out.write("no class\n")


def write_shards():
    for shard in range(3):
        with tarfile.open(os.path.join(place, "shard-%02d.tar" % (shard + 9)), "w", format=[tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT][shard]) as out:
            for i in range(3):
                # Longer than a header's field, and outside of any folder.
                key = ["../../up/%d" % i, "/absolute/%d" % i, "d" * 90 + "/" + "k" * 60 + str(i)][shard if shard < 2 else 2]
                image = io.BytesIO()
                extension = ["png", "jpg", "JPEG"][i]
                picture(20 + 5 * i, 30 - 4 * shard).save(image, "PNG" if i == 0 else "JPEG")
                for end, content in [("txt", b"a text"), (extension, image.getvalue()), ("cls", b"%d\n" % (i * 2 + shard)),
                                     ("json", json.dumps({"id": "x", "label": 7 - i}).encode())]:
                    member = tarfile.TarInfo(key + "." + end)
                    member.size = len(content)
                    if shard == 0:
                        member.pax_headers = {"comment": "c" * 700}
                    out.addfile(member, io.BytesIO(content))


def samples_of_shards(key):
    """By Python's tarfile: pictures and labels, in order."""
    found = []
    for shard in range(3):
        with tarfile.open(os.path.join(place, "shard-%02d.tar" % (shard + 9))) as archive:
            content = {m.name: archive.extractfile(m).read() for m in archive.getmembers()}
        for name in content:
            stem, end = name.rsplit(".", 1)
            if end.lower() in ["png", "jpg", "jpeg"]:
                label = int(content[stem + ".cls"]) if key is None else json.loads(content[stem + ".json"])[key]
                found.append((Image.open(io.BytesIO(content[name])).convert("RGB"), label))
    return found


def case(data, samples):
    tensors = [numpy.ascontiguousarray(x, dtype=numpy.float32) for x, _ in samples]
    return {"data": data, "labels": [label for _, label in samples], "shape": list(tensors[0].shape),
            "crc": zlib.crc32(b"".join(x.tobytes() for x in tensors))}


def chain(resize, crop, normal=None, mode=InterpolationMode.BILINEAR):
    steps = [transforms.Resize(resize, mode), transforms.CenterCrop(crop), transforms.ToTensor()]
    return transforms.Compose(steps + ([transforms.Normalize(*normal)] if normal else []))


def folder_with(transform):
    return [(x.numpy(), label) for x, label in datasets.ImageFolder(os.path.join(place, "folder"), transform)]


def presets():
    square = {"height": 16, "width": 18}
    yield "vit", transformers.ViTImageProcessor(size=square)
    yield "deit", transformers.DeiTImageProcessor(size={"height": 30, "width": 30}, crop_size={"height": 16, "width": 17})
    yield "beit", transformers.BeitImageProcessor(size=square, do_center_crop=False, resample=4, do_rescale=False)
    yield "clip", transformers.CLIPImageProcessor(size={"shortest_edge": 19}, crop_size={"height": 16, "width": 23})
    yield "siglip", transformers.SiglipImageProcessor(size=square, rescale_factor=0.01, image_mean=0.4, image_std=[0.1, 0.2, 0.3])
    yield "convnext", transformers.ConvNextImageProcessor(size={"shortest_edge": 21}, crop_pct=0.875, resample=3)
    yield "convnext_384", transformers.ConvNextImageProcessor(size={"shortest_edge": 384})
    yield "bit", transformers.BitImageProcessor(size={"shortest_edge": 23}, crop_size={"height": 40, "width": 41})
    yield "mobilenet_v2", transformers.MobileNetV2ImageProcessor(size={"shortest_edge": 22}, crop_size=21, do_normalize=False)


def main():
    shutil.rmtree(place, ignore_errors=True)
    os.makedirs(place)
    write_folder()
    write_shards()
    imagenet = ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
    cases = [
        case("imagefolder:{}/folder,resize=24,crop=20", folder_with(chain(24, 20))),
        case("imagefolder:{}/folder,resize=24,crop=20,mean=0.485+0.456+0.406,std=0.229+0.224+0.225,interpolation=bicubic",
             folder_with(chain(24, 20, imagenet, InterpolationMode.BICUBIC))),
        case("imagefolder:{}/folder,resize=17+26,crop=20+31,mean=0.5,std=0.25",
             folder_with(chain([17, 26], [20, 31], ([0.5] * 3, [0.25] * 3)))),
        case("webdataset:{}/shard-{09..11}.tar,resize=12,crop=11", [(chain(12, 11)(x), y) for x, y in samples_of_shards(None)]),
        case("webdataset:{}/shard-{09..11}.tar,json=label,resize=12,crop=11",
             [(chain(12, 11)(x), y) for x, y in samples_of_shards("label")]),
    ]
    pictures = datasets.ImageFolder(os.path.join(place, "folder"))
    for name, processor in presets():
        processor.save_pretrained(os.path.join(place, "presets", name))
        cases.append(case("imagefolder:{}/folder,preset={}/presets/%s" % name,
                          [(processor(x, return_tensors="np")["pixel_values"][0], y) for x, y in pictures]))
    old = {"do_normalize": True, "do_resize": True, "feature_extractor_type": "ViTFeatureExtractor", "image_mean": [0.5] * 3,
           "image_std": [0.5] * 3, "size": 15}
    os.makedirs(os.path.join(place, "presets", "old"))
    with open(os.path.join(place, "presets", "old", "preprocessor_config.json"), "w") as out:
        json.dump(old, out)
    processor = transformers.ViTImageProcessor.from_pretrained(os.path.join(place, "presets", "old"))
    cases.append(case("imagefolder:{}/folder,preset={}/presets/old",
                      [(processor(x, return_tensors="np")["pixel_values"][0], y) for x, y in pictures]))
    with open(os.path.join(place, "cases.json"), "w") as out:
        out.write("[\n" + ",\n".join(json.dumps(each) for each in cases) + "\n]\n")


main()
