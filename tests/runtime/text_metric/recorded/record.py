#!/usr/bin/env python3
"""Writes text_metrics.json: texts, and what the reference programs make of them.

SQuAD v1.1: the rules of evaluate-v1.1.py, which are compared with torchmetrics.functional.text.squad here; that takes
the rule of v2.0 for texts without words. SQuAD v2.0: transformers.data.metrics.squad_metrics, the official
program with its search for the best thresholds. Word error rate: jiwer. BLEU: sacrebleu.

    pip install torchmetrics==1.9.0 transformers==4.57.6 jiwer==4.0.0 sacrebleu==2.6.0
    python record.py
"""

import collections
import json
import pathlib
import random
import types

import jiwer
import sacrebleu
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
from torchmetrics.functional.text import squad as squad_v1
from transformers.data.metrics import squad_metrics as v2

random.seed(49)
SPACES = [" ", " ", " ", "  ", "\t", "\n", "\u00a0", "\u2003", "\u3000", "\x1c", "\x85", "\u2028", "\u200b"]
WORDS = """the The THE a A an An cat cats sat on mat. don't U.S.A. 3.14 1,000 12-13 x-1 , . - ' "quoted" (so) [b] {c}
    &amp; &quot;hi&quot; &lt;b&gt; <skipped> $5 50% # @ / \\ ~ ^ _ a_b the_cat É é İstanbul ΣΑΣ ΑΣ ß ſ Ǆ ǅ naïve Straße
    the\u0301 \u0301the a² ½ Ⅷ ٣ 中文 中文。 日本 「引用」 🙂 a🙂 🙂the 👩‍👩‍👧 й Й e\u0301 \u00ad an\u00adother theà ÀTHE
    the’ ’a “an” word’s … – — 1– 5., .5 5. ,5 -5 5- 5-a a-5 é. é, .é 中. 中,5 \u200bthe \ufeffa ªa aª _the_ the; a:b""".split()
EDGES = ["", " ", "the", "The a an", ".", "...", "a", "\t\n", "the the", "A.", "İ", "Σ", "ΑΣ ΑΣΑ", "1", "½", "\x85a\x85",
         "the\u00a0cat", "a\u200bb", "Ⅷ", "U.S.", "5-6-7", "1,2,3.", "-\n-", "a-\nb", "&amp;amp;", "..a..", ".,.,", "1.,1", "  x  "]


def text(most=9):
    if random.random() < 0.12:
        return random.choice(EDGES)
    made = ""
    for _ in range(random.randint(0, most)):
        made += random.choice(WORDS) + (random.choice(SPACES) if random.random() < 0.95 else "")
    return made


def near(truth):
    """A text that shares words with another one."""
    words = truth.split(" ")
    for _ in range(random.randint(0, 3)):
        at = random.randrange(len(words) + 1)
        kind = random.random()
        if kind < 0.4:
            words.insert(at, random.choice(WORDS))
        elif kind < 0.8 and at < len(words):
            words.pop(at)
        elif at < len(words):
            words[at] = words[at].upper()
    return random.choice(SPACES).join(words) if random.random() < 0.2 else " ".join(words)


def f1_v1(truth, answer):
    """evaluate-v1.1.py: no common word is 0, also of two texts without words."""
    truth, answer = v2.normalize_answer(truth).split(), v2.normalize_answer(answer).split()
    same = sum((collections.Counter(truth) & collections.Counter(answer)).values())
    if same == 0:
        return 0.0
    precision, recall = same / len(answer), same / len(truth)
    return 2 * precision * recall / (precision + recall)


def squad_cases():
    cases = []
    for _ in range(400):
        truths = [text(5) for _ in range(random.randint(1, 3))]
        answer = near(random.choice(truths)) if random.random() < 0.8 else text(5)
        one = squad_v1([{"prediction_text": answer, "id": "q"}], [{"answers": {"answer_start": [0], "text": truths}, "id": "q"}])
        f1 = max(f1_v1(t, answer) for t in truths)
        if all(v2.normalize_answer(t) for t in [answer, *truths]):
            assert abs(float(one["f1"]) / 100 - f1) < 1e-6
        golds = [t for t in truths if v2.normalize_answer(t)] or [""]
        cases.append({"answer": answer, "truths": truths, "normalized": v2.normalize_answer(answer),
                      "v1": {"exact": float(one["exact_match"]) / 100, "f1": f1},
                      "v2": {"exact": float(max(v2.compute_exact(g, answer) for g in golds)),
                             "f1": float(max(v2.compute_f1(g, answer) for g in golds))}})
    return cases


def example(name, truths):
    return types.SimpleNamespace(qas_id=name, answers=[{"text": t} for t in truths])


def v2_totals():
    """Whole data sets, with ties of the probabilities, one class of questions alone, and one question."""
    made = []
    for size in [1, 1, 2, 3, 8, 8, 20, 40, 60, 60]:
        share = random.choice([0.0, 0.3, 0.5, 1.0])
        examples, answers, unsure, questions = [], {}, {}, []
        for i in range(size):
            truths = [] if random.random() < share else [text(3) or "x" for _ in range(random.randint(1, 2))]
            answer = "" if random.random() < 0.3 else near(random.choice(truths)) if truths else text(2)
            examples.append(example(str(i), truths))
            answers[str(i)] = answer
            unsure[str(i)] = random.choice([0.0, 0.25, 0.5, 0.75, 1.0, random.random()])
            questions.append({"truths": truths, "answer": answer, "no_answer": unsure[str(i)]})
        for threshold in [1.0, 0.5]:
            result = v2.squad_evaluate(examples, answers, collections.OrderedDict(unsure), threshold)
            # squad_evaluate() searches with probabilities alone, as the official program does with --na-prob-file.
            made.append({"threshold": threshold, "questions": questions, "result": dict(result)})
    return made


def wer_cases():
    made = []
    for _ in range(300):
        pairs = []
        for _ in range(random.randint(1, 4)):
            reference = text()
            pairs.append((reference, near(reference) if random.random() < 0.7 else text()))
        output = jiwer.process_words([r for r, _ in pairs], [h for _, h in pairs])
        made.append({"pairs": pairs, "wer": float(output.wer),
                     "edits": output.substitutions + output.deletions + output.insertions,
                     "words": output.hits + output.substitutions + output.deletions})
    return made


def bleu_cases():
    made = []
    for _ in range(120):
        references = random.choice([1, 1, 2, 3])
        lines = []
        for _ in range(random.choice([1, 1, 2, 5])):
            truths = [text(14) for _ in range(references)]
            lines.append({"hypothesis": near(random.choice(truths)) if random.random() < 0.8 else text(14), "references": truths})
        hypotheses = [line["hypothesis"] for line in lines]
        streams = [[line["references"][i] for line in lines] for i in range(references)]
        case = {"lines": lines, "scores": {}}
        for words in ["13a", "none"]:
            for smoothing in ["exp", "none"]:
                bleu = sacrebleu.corpus_bleu(hypotheses, streams, tokenize=words, smooth_method=smoothing, force=True)
                case["scores"][f"{words} {smoothing}"] = {"score": bleu.score, "precisions": bleu.precisions, "brevity_penalty": bleu.bp,
                                                          "words": bleu.sys_len, "reference_words": bleu.ref_len}
        made.append(case)
    return made


def main():
    tokenizer = Tokenizer13a()
    lines = [text(12) for _ in range(200)] + EDGES
    recorded = {"versions": {"jiwer": "4.0.0", "sacrebleu": "2.6.0", "torchmetrics": "1.9.0", "transformers": "4.57.6"},
                "python": [{"text": t, "lower": t.lower(), "split": t.split()} for t in [text(4) for _ in range(200)] + EDGES + WORDS],
                "squad": squad_cases(), "squad_v2": v2_totals(), "wer": wer_cases(), "bleu": bleu_cases(),
                "13a": [{"line": t, "words": tokenizer(t)} for t in lines]}
    path = pathlib.Path(__file__).parent / "text_metrics.json"
    path.write_text(json.dumps(recorded, ensure_ascii=True, separators=(",", ":")) + "\n")
    print(path, path.stat().st_size)


if __name__ == "__main__":
    main()
