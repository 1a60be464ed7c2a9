#!/usr/bin/env python3
"""Writes the tables of tests/runtime/data/recorded/tables: random CSV and JSONL files, and what pandas and Python's own
csv and json modules read in them, as lines that the test compares. Run in this folder with pandas:
    python3 table_pandas.py recorded/tables"""
import csv, io, json, random, struct, sys
from pathlib import Path


def float_bits(value):
    """The bits of the nearest float32, as the test has them."""
    return struct.unpack("<I", struct.pack("<f", value))[0]


def odd_text(rng):
    return "".join(rng.choice(['a', 'B', ' ', ',', '"', ';', '\n', '\r\n', 'ä', '漢', '😀', "'", '\t', '\\'])
                   for _ in range(rng.randrange(1, 9)))


def short_float(rng):
    """A float32 in the fewest digits, in one of the notations of Python."""
    import numpy
    value = numpy.float32(rng.uniform(-1, 1) * 10.0 ** rng.randrange(-40, 38))
    text = str(value) if rng.random() < 0.5 else f"{value:.9e}"
    return rng.choice(["", "", " "]) + text


def write_csv(folder, seed):
    rng = random.Random(seed)
    separator = rng.choice([",", ";", "\t"])
    rows = [[short_float(rng), str(rng.randrange(-10**6, 10**6)), odd_text(rng), rng.choice(["cat", "dog", "eel, big"])]
            for _ in range(rng.randrange(1, 80))]
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=separator, lineterminator=rng.choice(["\n", "\r\n"]),
                        quoting=rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
    writer.writerow(["real", "whole", "text, odd", "label"])
    writer.writerows(rows)
    text = out.getvalue()
    if rng.random() < 0.5:
        text = text.rstrip("\r\n")
    data = (b"\xef\xbb\xbf" if rng.random() < 0.3 else b"") + text.encode()
    (folder / f"{seed}.csv").write_bytes(data)
    return separator, data


def expected_of_csv(separator, data):
    """By pandas for numbers, by csv for texts."""
    import pandas
    text = data.decode("utf-8-sig")
    frame = pandas.read_csv(io.StringIO(text, newline=""), sep=separator,
                            dtype={"label": str, "text, odd": str}, keep_default_na=False, skipinitialspace=True)
    texts = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator))[1:]
    classes = sorted(set(frame["label"]), key=lambda name: name.encode())
    for i, row in enumerate(texts):
        yield {"real": float_bits(float(frame["real"][i])), "whole": float_bits(float(frame["whole"][i])),
               "text": row[2], "label": classes.index(row[3])}


def write_jsonl(folder, seed):
    rng = random.Random(seed)
    lines = []
    for _ in range(rng.randrange(1, 60)):
        row = {"id": odd_text(rng), "real": float(short_float(rng)), "nested": {"whole": rng.randrange(-10**9, 10**9),
               "text": odd_text(rng)}, "ids": [rng.randrange(-2**62, 2**62) for _ in range(5)],
               "more": [{"x": [1, {"y": None}]}, "z"], "label": rng.randrange(7)}
        keys = list(row)
        if lines:
            rng.shuffle(keys)
        lines.append(json.dumps({key: row[key] for key in keys}, ensure_ascii=rng.random() < 0.5,
                                separators=rng.choice([(",", ":"), (", ", ": ")])))
        if rng.random() < 0.1:
            lines.append("  ")
    data = rng.choice(["\n", "\r\n"]).join(lines) + rng.choice(["", "\n"])
    (folder / f"{seed}.jsonl").write_text(data, newline="")
    return data


def expected_of_jsonl(data):
    for line in data.replace("\r\n", "\n").split("\n"):
        if not line.strip():
            continue
        row = json.loads(line)
        yield {"real": float_bits(row["real"]), "whole": float_bits(row["nested"]["whole"]), "text": row["nested"]["text"],
               "ids": row["ids"], "label": row["label"], "more": json.dumps(row["more"], separators=(",", ":"))}


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    cases = []
    for seed in range(12):
        separator, data = write_csv(folder, seed)
        cases.append({"file": f"{seed}.csv", "separator": separator, "rows": list(expected_of_csv(separator, data))})
    for seed in range(100, 108):
        data = write_jsonl(folder, seed)
        cases.append({"file": f"{seed}.jsonl", "rows": list(expected_of_jsonl(data))})
    (folder / "expected.json").write_text(json.dumps(cases, separators=(",", ":")) + "\n")


main()
