#!/usr/bin/env python3
"""Writes what the `tokenizers` package makes of texts, for the tests to compare: one JSON value per line.

    PYTHON tests/runtime/text/record.py recorded            the texts of corpus.py; makes the files in recorded/ anew
    PYTHON tests/runtime/text/record.py random FOLDER SEED COUNT  random texts, with the tokenizers of FOLDER
        and the characters of its unassigned.txt, which the test's Oniguruma does not have

Recorded with tokenizers 0.22.2 and sentencepiece 0.2.3. A line has the tokenizer (k), the text (t) and perhaps a second one (p),
how often the text is repeated (r), options (o), and the windows (w): ids, type ids, attention mask, special tokens
mask, offsets in characters, sequence. Of a repeated text it has the number of tokens and a checksum of ids and offsets.
"""
import gzip
import json
import os
import pathlib
import random
import struct
import sys
import zlib

from tokenizers import Regex, Tokenizer, pre_tokenizers

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from corpus import SENTENCES, random_texts  # noqa: E402
import make_tokenizers  # noqa: E402

HERE = pathlib.Path(__file__).parent
REPEATED_BYTES = 1 << 20
FALLBACK_OPTIONS = {"special": True}


def windows(encoding):
    return [window(each) for each in [encoding] + encoding.overflowing]


def window(each):
    offsets = [number for pair in each.offsets for number in pair]
    sequence = [-1 if number is None else number for number in each.sequence_ids]
    return [each.ids, each.type_ids, each.attention_mask, each.special_tokens_mask, offsets, sequence]


def checksum(encoding):
    numbers = [number for row in zip(encoding.ids, *zip(*encoding.offsets)) for number in row]
    return [len(encoding.ids), zlib.crc32(struct.pack("<%dI" % len(numbers), *numbers))]


def case(kind, tokenizer, text, pair=None, options=None, repeat=1):
    options = {**FALLBACK_OPTIONS, **(options or {})}
    line = {"k": kind, "t": text}
    if pair is not None:
        line["p"] = pair
    line["o"] = options
    if options.get("file"):
        return {**line, "w": windows(tokenizer.encode(text))}
    tokenizer.no_truncation()
    tokenizer.no_padding()
    try:
        if "length" in options:
            side = options.get("side", "right")
            tokenizer.enable_truncation(options["length"], stride=options.get("stride", 0), strategy=options["strategy"], direction=side)
        if "pad" in options:
            length, multiple = options.get("pad_length"), options.get("multiple")
            tokenizer.enable_padding(direction=options.get("pad_side", "right"), pad_id=options["pad"], length=length, pad_to_multiple_of=multiple)
        encoding = tokenizer.encode(text * repeat, pair, add_special_tokens=options["special"])
    except BaseException as problem:  # noqa: B036: a panic of the package is one
        if isinstance(problem, KeyboardInterrupt):
            raise
        return {**line, "e": str(problem)[:80]}
    if repeat > 1:
        return {**line, "r": repeat, "c": checksum(encoding)}
    line["w"] = windows(encoding)
    if pair is None and "length" not in options:
        line["d"] = tokenizer.decode(encoding.ids, skip_special_tokens=False)
        line["s"] = tokenizer.decode(encoding.ids, skip_special_tokens=True)
    return line


def variants(draw):
    """Options that cut and pad."""
    options = {"length": draw.choice([4, 5, 8, 16, 17, 33]), "stride": draw.choice([0, 0, 1, 2, 5, 9]),
               "strategy": draw.choice(["longest_first", "only_first", "only_second"]), "special": draw.random() < 0.8,
               "side": draw.choice(["right", "right", "left"])}
    if draw.random() < 0.5:
        options.update(pad=7, pad_side=draw.choice(["left", "right"]), multiple=draw.choice([None, 8]), pad_length=draw.choice([None, 40]))
    return options


def cases(kind, tokenizer, texts, draw, share_of_pairs):
    for text in texts:
        yield case(kind, tokenizer, text)
        if draw.random() < share_of_pairs:
            yield case(kind, tokenizer, text, draw.choice(texts), {"special": draw.random() < 0.5})
            yield case(kind, tokenizer, text, draw.choice([None, draw.choice(texts), draw.choice(texts)]), variants(draw))


def write(path, lines):
    text = "".join(json.dumps(line, ensure_ascii=True, separators=(",", ":")) + "\n" for line in lines)
    path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def record():
    folder = HERE / "recorded"
    make_tokenizers.main(folder)
    draw = random.Random(1)
    lines = []
    for kind in make_tokenizers.KINDS:
        tokenizer = Tokenizer.from_file(str(folder / (kind + ".json")))
        lines += cases(kind, tokenizer, SENTENCES, draw, 0.3)
        for text in [SENTENCES[0], SENTENCES[10], SENTENCES[15], "a", " ", "中"]:
            lines.append(case(kind, tokenizer, text, repeat=REPEATED_BYTES // len(text.encode())))
    tokenizer = Tokenizer.from_file(str(folder / "word_level.json"))
    lines += [case("word_level", tokenizer, text, options={"file": True}) for text in SENTENCES[:10]]
    write(folder / "cases.jsonl.gz", lines)
    for kind in make_tokenizers.KINDS:
        path = folder / (kind + ".json")
        (folder / (kind + ".json.gz")).write_bytes(gzip.compress(path.read_bytes(), 9, mtime=0))
        path.unlink()


def newer_characters(folder):
    """The characters of unassigned.txt that the package's regular expressions know."""
    pairs = [map(int, line.split()) for line in (folder / "unassigned.txt").read_text().splitlines()]
    unknown = "".join(chr(c) for first, last in pairs for c in range(first, last + 1))
    parts = pre_tokenizers.Split(Regex(r"\p{Cn}+"), "removed").pre_tokenize_str(unknown)
    return {c for part, _ in parts for c in part}


def has_expressions(path):
    text = path.read_text(encoding="utf-8")
    return '"Regex"' in text or '"use_regex":true' in text


def compare_randomly(folder, seed, count):
    draw = random.Random(seed)
    without_newer = dict.fromkeys(map(ord, newer_characters(folder)))
    for path in sorted(folder.glob("*.json")):
        tokenizer = Tokenizer.from_file(str(path))
        texts = random_texts(draw.random(), count)
        if has_expressions(path):
            texts = [text.translate(without_newer) for text in texts]
        write(folder / (path.stem + ".jsonl.gz"), cases(path.stem, tokenizer, texts, draw, 0.2))


if __name__ == "__main__":
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    if sys.argv[1] == "recorded":
        record()
    else:
        compare_randomly(pathlib.Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
