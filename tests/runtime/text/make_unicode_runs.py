#!/usr/bin/env python3
"""Asks the `tokenizers` package for the properties of all characters, and writes runtime/text/unicode_runs.cpp.

    PYTHON tests/runtime/text/make_unicode_runs.py

Each part of the package has its own edition of Unicode. So each property is taken from what the package does with each
single character. Made with tokenizers 0.22.2.
"""
import os
import pathlib

from tokenizers import normalizers, pre_tokenizers

CHARACTERS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
# The order of the bits is that of unicode_classes.hpp.
FLAGS = "rust_space numeric control mark_nonspacing combining punctuation rust_word rust_regex_space".split()
# What names a class in the text of runs: neither a digit nor a character that C++ escapes.
NAMES = [chr(c) for c in range(33, 127) if chr(c) not in '0123456789"\\?%']


def kept(pre_tokenizer):
    """The characters that a pre-tokenizer that removes others leaves."""
    found = set()
    for start in range(0, len(CHARACTERS), 20000):
        part = CHARACTERS[start : start + 20000]
        for _, (begin, end) in pre_tokenizer.pre_tokenize_str("".join(map(chr, part))):
            found.update(part[begin:end])
    return found


def isolated(pre_tokenizer):
    return {c for c in CHARACTERS if len(pre_tokenizer.pre_tokenize_str("xy" + chr(c) + "xy")) == 3}


def removed(normalizer):
    return {c for c in CHARACTERS if normalizer.normalize_str("a" + chr(c) + "a") == "aa"}


def bert(**on):
    off = {"clean_text": False, "handle_chinese_chars": False, "strip_accents": False, "lowercase": False}
    return normalizers.BertNormalizer(**{**off, **on})


def flags():
    everything = set(CHARACTERS)
    word = {c for c in CHARACTERS if len(pre_tokenizers.Whitespace().pre_tokenize_str("x" + chr(c) + "x")) == 1}
    no_space = kept(pre_tokenizers.Whitespace())
    sets = {
        "rust_space": everything - kept(pre_tokenizers.WhitespaceSplit()),
        "numeric": isolated(pre_tokenizers.Digits(individual_digits=True)),
        "control": removed(bert(clean_text=True)),
        "mark_nonspacing": removed(bert(strip_accents=True)),
        "combining": removed(normalizers.StripAccents()),
        "punctuation": isolated(pre_tokenizers.Punctuation()),
        "rust_word": word,
        "rust_regex_space": everything - no_space,
    }
    values = dict.fromkeys(CHARACTERS, 0)
    for bit, name in enumerate(FLAGS):
        for c in sets[name]:
            values[c] |= 1 << bit
    return values


def main():
    marks = flags()
    classes = {}
    runs = []
    for c in range(0x110000):
        found = classes.setdefault(marks.get(c, 0), len(classes))
        if runs and runs[-1][0] == found:
            runs[-1][1] += 1
        else:
            runs.append([found, 1])
    text = "".join(NAMES[name] + (str(count) if count > 1 else "") for name, count in runs)
    lines = [text[at : at + 114] for at in range(0, len(text), 114)]
    root = pathlib.Path(__file__).resolve().parents[3]
    with open(root / "runtime/text/unicode_runs.cpp", "w") as out:
        out.write('#include "runtime/text/unicode_runs.hpp"\n\n')
        out.write("// Written by tests/runtime/text/make_unicode_runs.py.\n")
        out.write("namespace troupe::unicode {\n\n// clang-format off\n")
        out.write("const std::string_view class_names =\n    \"" + "".join(NAMES[: len(classes)]) + "\";\n")
        out.write("const std::array<std::uint8_t, class_count> flags_of_classes = {{\n")
        row = "    "
        for bits in classes:
            item = "0x%x, " % bits
            if len(row) + len(item) > 118:
                out.write(row.rstrip() + "\n")
                row = "    "
            row += item
        out.write(row.rstrip(", ") + "}};\n")
        out.write("const std::string_view runs =\n" + "\n".join('    "%s"' % line for line in lines) + ";\n")
        out.write("// clang-format on\n\n}  // namespace troupe::unicode\n")
    print(len(classes), "classes,", len(runs), "runs,", len(lines), "lines")


if __name__ == "__main__":
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    main()
