#!/usr/bin/env python3
"""Trains small models of SentencePiece and writes what the `sentencepiece` package makes of texts, into recorded/.

    PYTHON tests/runtime/text/record_sentencepiece.py

Made with sentencepiece 0.2.3. A line has the model (k), the text (t), the ids (i), the offsets in bytes (o), and
the ids joined to a text again (d). The offsets of bytes of an unknown character are left out: -1.
"""
import gzip
import io
import json
import pathlib
import sys

import sentencepiece

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from corpus import SENTENCES, random_texts  # noqa: E402

FOLDER = pathlib.Path(__file__).parent / "recorded"
KINDS = {
    "unigram": {"model_type": "unigram", "normalization_rule_name": "nmt_nfkc", "vocab_size": 700},
    "bpe": {"model_type": "bpe", "byte_fallback": True, "normalization_rule_name": "identity", "vocab_size": 900, "remove_extra_whitespaces": False},
    "plain": {"model_type": "unigram", "normalization_rule_name": "nfkc_cf", "vocab_size": 500, "add_dummy_prefix": False},
}


def train(options):
    model = io.BytesIO()
    lines = [line.replace("\0", " ") for line in SENTENCES if line] * 3
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=model, minloglevel=2, character_coverage=0.98, hard_vocab_limit=False, num_threads=1, **options
    )
    return model.getvalue()


def main():
    lines = []
    for kind, options in KINDS.items():
        model = train(options)
        (FOLDER / (kind + ".model.gz")).write_bytes(gzip.compress(model, 9, mtime=0))
        processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        for text in SENTENCES + random_texts(3, 150):
            if "\0" in text:
                continue
            pieces = processor.encode(text, return_type="proto").pieces
            ids = [piece.id for piece in pieces]
            offsets = [-1 if processor.is_byte(piece.id) else [piece.begin, piece.end] for piece in pieces]
            lines.append({"k": kind, "t": text, "i": ids, "o": offsets, "d": processor.decode(ids)})
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    (FOLDER / "sentencepiece.jsonl.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))


if __name__ == "__main__":
    main()
