#!/usr/bin/env python3
"""Trains small tokenizers of each kind with the `tokenizers` package, and writes their files to a folder.

    PYTHON tests/runtime/text/make_tokenizers.py FOLDER
"""
import json
import os
import pathlib
import sys

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from corpus import SENTENCES  # noqa: E402

LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
O200K = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
BYTES = pre_tokenizers.ByteLevel.alphabet()
BERT_SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
TEXTS = [line for line in SENTENCES if line] * 3


def word_piece(lowers, size=900, **options):
    made = Tokenizer(models.WordPiece(unk_token="[UNK]", **options))
    made.normalizer = normalizers.BertNormalizer(lowercase=lowers)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(vocab_size=size, special_tokens=BERT_SPECIALS, show_progress=False, limit_alphabet=500)
    made.train_from_iterator(TEXTS, trainer)
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    made.decoder = decoders.WordPiece()
    return made


def byte_bpe(pre_tokenizer, specials, size=900, normalizer=None, **options):
    made = Tokenizer(models.BPE(**options))
    if normalizer is not None:
        made.normalizer = normalizer
    made.pre_tokenizer = pre_tokenizer
    trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=specials, initial_alphabet=BYTES, show_progress=False)
    made.train_from_iterator(TEXTS, trainer)
    made.decoder = decoders.ByteLevel()
    return made


def regex_bytes(pattern):
    split = pre_tokenizers.Split(Regex(pattern), "isolated")
    return pre_tokenizers.Sequence([split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def gpt2():
    made = byte_bpe(pre_tokenizers.ByteLevel(add_prefix_space=False), ["<|endoftext|>"])
    made.post_processor = processors.ByteLevel(trim_offsets=False)
    return made


def roberta(adds_space=False):
    made = byte_bpe(pre_tokenizers.ByteLevel(add_prefix_space=adds_space), ["<s>", "<pad>", "</s>", "<unk>"])
    made.add_special_tokens([AddedToken("<mask>", lstrip=True)])
    made.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), True, adds_space)
    return made


def llama3():
    made = byte_bpe(regex_bytes(LLAMA3), [], ignore_merges=True)
    made.add_special_tokens(["<|begin|>", "<|end|>"])
    begin = made.token_to_id("<|begin|>")
    template = processors.TemplateProcessing(
        single="<|begin|> $A", pair="<|begin|> $A <|begin|>:1 $B:1", special_tokens=[("<|begin|>", begin)]
    )
    made.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=True), template])
    return made


def qwen2():
    made = byte_bpe(regex_bytes(QWEN2), [], normalizer=normalizers.NFC())
    made.add_special_tokens(["<|endoftext|>", "<|im_start|>", "<|im_end|>"])
    made.post_processor = processors.ByteLevel(trim_offsets=False)
    return made


def llama2():
    made = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    prepared = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    made.normalizer = prepared
    made.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never")
    specials = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)]
    trainer = trainers.BpeTrainer(vocab_size=900, special_tokens=specials, show_progress=False, limit_alphabet=150)
    made.train_from_iterator(TEXTS, trainer)
    # As the published files have it: no pre-tokenizer, and only the first three tokens are special.
    whole = json.loads(made.to_str())
    whole["pre_tokenizer"] = None
    whole["added_tokens"] = whole["added_tokens"][:3]
    made = Tokenizer.from_str(json.dumps(whole))
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s>:1 $B:1", special_tokens=[("<s>", 1)]
    )
    steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    made.decoder = decoders.Sequence(steps)
    return made


def metaspace_bpe():
    made = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=False, fuse_unk=False, end_of_word_suffix="</w>"))
    made.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()])
    made.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=True)
    trainer = trainers.BpeTrainer(
        vocab_size=700, special_tokens=["<unk>", "<pad>"], show_progress=False, limit_alphabet=200, end_of_word_suffix="</w>"
    )
    made.train_from_iterator(TEXTS, trainer)
    made.decoder = decoders.BPEDecoder(suffix="</w>")
    return made


def charsmap():
    """The table of replacements of a model that the sentencepiece package trains: nmt_nfkc."""
    import io

    import sentencepiece

    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([line.replace("\0", " ") for line in TEXTS]), model_writer=model, vocab_size=700,
        model_type="unigram", normalization_rule_name="nmt_nfkc", minloglevel=2, character_coverage=0.98,
        hard_vocab_limit=False, num_threads=1,
    )
    from sentencepiece import sentencepiece_model_pb2

    proto = sentencepiece_model_pb2.ModelProto()
    proto.ParseFromString(model.getvalue())
    return proto


def xlm_r():
    import base64

    proto = charsmap()
    pieces = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0)]
    pieces += [(piece.piece, piece.score) for piece in proto.pieces[3:]] + [("<mask>", 0.0)]
    made = Tokenizer(models.Unigram(pieces, 3))
    table = base64.b64encode(proto.normalizer_spec.precompiled_charsmap).decode()
    whole = json.loads(made.to_str())
    whole["normalizer"] = {
        "type": "Sequence",
        "normalizers": [
            {"type": "Precompiled", "precompiled_charsmap": table},
            {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "},
        ],
    }
    made = Tokenizer.from_str(json.dumps(whole))
    metaspace = pre_tokenizers.Metaspace(prepend_scheme="always")
    made.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), metaspace])
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    made.decoder = decoders.Metaspace(prepend_scheme="always")
    made.add_special_tokens(["<s>", "<pad>", "</s>", "<unk>", AddedToken("<mask>", lstrip=True)])
    return made


def unigram_bytes():
    made = Tokenizer(models.Unigram([("<unk>", 0.0)], 0))
    made.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKD(), normalizers.StripAccents(), normalizers.Strip()])
    made.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    fallbacks = [f"<0x{byte:02X}>" for byte in range(256)]
    trainer = trainers.UnigramTrainer(vocab_size=600, special_tokens=["<unk>"], unk_token="<unk>", show_progress=False)
    made.train_from_iterator(TEXTS, trainer)
    whole = json.loads(made.to_str())
    whole["model"]["byte_fallback"] = True
    whole["model"]["vocab"] += [[name, -20.0] for name in fallbacks]
    made = Tokenizer.from_str(json.dumps(whole))
    made.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace(prepend_scheme="first")])
    return made


def word_level():
    made = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    made.normalizer = normalizers.Sequence([normalizers.NFD(), normalizers.Lowercase(), normalizers.StripAccents()])
    digits = pre_tokenizers.Digits(individual_digits=True)
    made.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), digits, pre_tokenizers.Punctuation("contiguous")])
    made.train_from_iterator(TEXTS, trainers.WordLevelTrainer(vocab_size=400, special_tokens=["[UNK]", "[PAD]"], show_progress=False))
    made.add_tokens([AddedToken("Café", normalized=True), AddedToken("day", single_word=True), AddedToken("tok", rstrip=True, normalized=False)])
    made.enable_padding(pad_id=1, pad_token="[PAD]", pad_to_multiple_of=8)
    made.enable_truncation(24, stride=3)
    return made


def split_kinds():
    """Words by different kinds of splits behind each other."""
    made = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=20))
    steps = [
        pre_tokenizers.Split("the", "merged_with_previous"),
        pre_tokenizers.Split(Regex(r"(?<=\d)(?=\p{Lu})|[\p{Han}&&[^\x{4e00}-\x{5fff}]]"), "isolated"),
        pre_tokenizers.Split(Regex(r"[[:digit:]]+|\b-\b"), "merged_with_next"),
        pre_tokenizers.Split(Regex(r"\s+"), "removed"),
        pre_tokenizers.Split(Regex(r"\w++(?>[-'])?|[^\w\s]{1,3}?"), "removed", invert=True),
        pre_tokenizers.Digits(individual_digits=False),
    ]
    made.pre_tokenizer = pre_tokenizers.Sequence(steps)
    made.normalizer = normalizers.Sequence([normalizers.Replace(Regex(r"[\u200b-\u200f]"), ""), normalizers.Strip(left=True, right=False)])
    made.train_from_iterator(TEXTS, trainers.WordPieceTrainer(vocab_size=600, special_tokens=BERT_SPECIALS, show_progress=False))
    made.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return made


KINDS = {
    "bert_uncased": lambda: word_piece(True),
    "bert_cased": lambda: word_piece(False),
    "gpt2": gpt2,
    "roberta": roberta,
    "roberta_space": lambda: roberta(True),
    "llama3": llama3,
    "qwen2": qwen2,
    "o200k": lambda: byte_bpe(regex_bytes(O200K), ["<|endoftext|>"]),
    "llama2": llama2,
    "metaspace_bpe": metaspace_bpe,
    "xlm_r": xlm_r,
    "unigram_bytes": unigram_bytes,
    "word_level": word_level,
    "split_kinds": split_kinds,
}


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in KINDS.items():
        (folder / (name + ".json")).write_text(make().to_str(pretty=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    main(pathlib.Path(sys.argv[1]))
