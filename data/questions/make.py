#!/usr/bin/env python3
"""Trains the small model of this folder for question answering, and writes its questions and what they must give.

    pip install torch==2.11.0 transformers==4.57.6
    python make.py

The contexts are made of sentences about towns that do not exist. A question asks for one of the facts; some questions of
version 2.0 ask for a fact that is not told. Expected answers: PyTorch computes each window by itself, without padding,
and the rules of run_qa.py of transformers choose; scores are those of the official programs (v1.1: its rules, v2.0:
transformers.data.metrics.squad_metrics).
"""

import collections
import json
import pathlib
import random

import numpy
import torch
from transformers import BertConfig, BertForQuestionAnswering, BertTokenizerFast
from transformers.data.metrics import squad_metrics

HERE = pathlib.Path(__file__).parent
MAX_LENGTH, STRIDE, N_BEST, MAX_ANSWER = 96, 24, 20, 30

TOWNS = "Alvor Břeclav Córdoba Dunmore Évora Fårup Görlitz Høje Ílhavo Jämsä Kålund Łomża Münster Nîmes Örebro Písek".split()
NAMES = "Anna Björn Carla Daniël Émile Frida Günther Héloïse İlker Jürgen Klára Lucía Mårten Noémi Oskar Zoë".split()
FAMILIES = "Adler Bělá Castro Dupré Engström Fischer Gómez Håkansson Ivanov Jónsdóttir Kovács Løvenskiold".split()
THINGS = "glass salt paper wool copper bread cheese clocks boats bells tea wine".split()
MONTHS = "January February March April May June July August September October November December".split()
COLOURS = "red blue green white black yellow brown grey".split()
FILLERS = ["The streets are quiet in winter.", "Many people walk along the water in the evening.", "Trains stop here twice a day — at least in summer.",
           "It rains often, and the roofs are steep.", "“A small place,” as visitors say.", "Children play near the old wall (built long ago).",
           "Cafés open early; some close late.", "There is a market on Mondays 🙂 with fruit.", "Buses cost 2.50 € per ride."]


def facts(town):
    """(question, sentence before the answer, answer, sentence behind it)"""
    person = lambda: random.choice(NAMES) + " " + random.choice(FAMILIES)
    return [
        (f"When was {town} founded?", f"{town} was founded in ", str(random.randint(900, 1900)), "."),
        (f"Who is the mayor of {town}?", "The mayor is ", person(), ", who was elected twice."),
        (f"What is made in {town}?", "The factories make ", random.choice(THINGS) + " and " + random.choice(THINGS), "."),
        (f"How many people live in {town}?", "There live ", f"{random.randint(1, 99)},{random.randint(100, 999)} people", " in the town."),
        (f"Which colour has the tower of {town}?", "Its tower is ", random.choice(COLOURS), ", and can be seen from afar."),
        (f"When is the festival of {town}?", "The festival is held in ", random.choice(MONTHS), " each year."),
        (f"Who wrote a book about {town}?", "A book about it was written by ", person(), "."),
        (f"How long is the river at {town}?", "The river is ", f"{random.randint(2, 99)} kilometres", " long."),
    ]


def paragraph(number, fillers, unanswerable):
    town = random.choice(TOWNS)
    told = random.sample(facts(town), random.randint(4, 6))
    pieces, places = "", []
    lines = told + [None] * fillers
    random.shuffle(lines)
    for line in lines:
        pieces += " " if pieces else ""
        if line is None:
            pieces += random.choice(FILLERS)
            continue
        question, before, answer, behind = line
        pieces += before
        places.append((question, answer, len(pieces)))
        pieces += answer + behind
    qas = [{"id": f"q{number}-{i}", "question": q, "answers": [{"text": a, "answer_start": s}]} for i, (q, a, s) in enumerate(places)]
    if unanswerable:
        asked = {q for q, _, _ in places}
        missing = [f for f in facts(town) if f[0] not in asked]
        for qa in qas:
            qa["is_impossible"] = False
        qas += [{"id": f"q{number}-n{i}", "question": f[0], "answers": [], "is_impossible": True} for i, f in enumerate(missing[:2])]
    return {"context": pieces, "qas": qas}


def data_set(version, paragraphs, first):
    made = [paragraph(first + i, random.choice([0, 1, 2, 4, 16]), version == "v2.0") for i in range(paragraphs)]
    return {"version": version, "data": [{"title": "Towns", "paragraphs": made}]}


def make_tokenizer():
    probe = BertTokenizerFast
    text = " ".join(TOWNS + NAMES + FAMILIES + THINGS + MONTHS + COLOURS + FILLERS)
    for town in ["Alvor"]:
        text += " ".join(q + " " + b + " " + a + t for q, b, a, t in facts(town))
    text += " kilometres people and twice"
    from tokenizers.normalizers import BertNormalizer
    from tokenizers.pre_tokenizers import BertPreTokenizer
    plain = BertNormalizer(lowercase=True, strip_accents=True, clean_text=True).normalize_str(text)
    words = sorted({w for w, _ in BertPreTokenizer().pre_tokenize_str(plain)})
    # Some words have no token of their own, so that they become pieces.
    words = [w for w in words if not w.isdigit() and w not in {"engstrom", "jonsdottir", "lucia", "kilometres", "nimes"}]
    letters = sorted({c for w in words for c in w} | set("0123456789abcdefghijklmnopqrstuvwxyz,.?!"))
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + letters + ["##" + c for c in letters] + [w for w in words if len(w) > 1]
    folder = HERE / "model"
    folder.mkdir(exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join(vocabulary) + "\n", encoding="utf-8")
    made = probe(vocab_file=str(folder / "vocab.txt"), do_lower_case=True, model_max_length=192)
    made.save_pretrained(folder)
    return made


def windows(tokenizer, question, context):
    made = tokenizer(question.lstrip(), context, truncation="only_second", max_length=MAX_LENGTH, stride=STRIDE,
                     return_overflowing_tokens=True, return_offsets_mapping=True)
    for i in range(len(made["input_ids"])):
        sequence = made.sequence_ids(i)
        offsets = [o if s == 1 else None for o, s in zip(made["offset_mapping"][i], sequence)]
        yield {k: made[k][i] for k in ("input_ids", "attention_mask", "token_type_ids")}, offsets


def features(tokenizer, data):
    for article in data["data"]:
        for one in article["paragraphs"]:
            for qa in one["qas"]:
                for inputs, offsets in windows(tokenizer, qa["question"], one["context"]):
                    start = end = 0
                    if qa["answers"]:
                        begin = qa["answers"][0]["answer_start"]
                        stop = begin + len(qa["answers"][0]["text"])
                        starts = [i for i, o in enumerate(offsets) if o and o[0] == begin]
                        ends = [i for i, o in enumerate(offsets) if o and o[1] == stop]
                        if starts and ends:
                            start, end = starts[0], ends[-1]
                    yield inputs, start, end


def train(tokenizer):
    config = BertConfig(vocab_size=len(tokenizer), hidden_size=64, num_hidden_layers=3, num_attention_heads=2, intermediate_size=128,
                        max_position_embeddings=128, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    model = BertForQuestionAnswering(config)
    examples = list(features(tokenizer, data_set("v2.0", 500, 0)))
    print("windows to train with:", len(examples), "parameters:", sum(p.numel() for p in model.parameters()))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    steps, batch = 900, 32
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = 2e-3 * min(1.0, (step + 1) / 50) * (1 - step / steps)
        chosen = random.sample(examples, batch)
        length = max(len(e[0]["input_ids"]) for e in chosen)
        padded = {k: torch.tensor([e[0][k] + [0] * (length - len(e[0][k])) for e in chosen]) for k in chosen[0][0]}
        loss = model(**padded, start_positions=torch.tensor([e[1] for e in chosen]), end_positions=torch.tensor([e[2] for e in chosen])).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 100 == 0 or step == steps - 1:
            print("step", step, "loss", round(float(loss), 4), flush=True)
    model.eval()
    model.save_pretrained(HERE / "model")
    return model


def ranked(logits):
    return numpy.argsort(logits, kind="stable")[-1 : -N_BEST - 1 : -1].tolist()


def candidates(model, tokenizer, question, context, is_v2):
    """The rules of run_qa.py (utils_qa.py) of transformers."""
    spans, null = [], None
    for inputs, offsets in windows(tokenizer, question, context):
        with torch.no_grad():
            out = model(**{k: torch.tensor([v]) for k, v in inputs.items()})
        start, end = out.start_logits[0].numpy(), out.end_logits[0].numpy()
        score = start[0] + end[0]
        if null is None or null["score"] > score:
            null = {"text": "", "score": score, "start_logit": start[0], "end_logit": end[0]}
        for s in ranked(start):
            for e in ranked(end):
                if offsets[s] is None or offsets[e] is None or e < s or e - s + 1 > MAX_ANSWER:
                    continue
                spans.append({"text": context[offsets[s][0] : offsets[e][1]], "score": start[s] + end[e],
                              "start_logit": start[s], "end_logit": end[e]})
    if is_v2:
        spans.append(null)
    spans = sorted(spans, key=lambda x: x["score"], reverse=True)[:N_BEST]
    if is_v2 and all(x["text"] for x in spans):
        spans.append(null)
    scores = numpy.array([float(x["score"]) for x in spans])
    shares = numpy.exp(scores - scores.max())
    for span, share in zip(spans, shares / shares.sum()):
        span["probability"] = share
    return spans, null


def f1_v1(truth, answer):
    truth, answer = squad_metrics.normalize_answer(truth).split(), squad_metrics.normalize_answer(answer).split()
    same = sum((collections.Counter(truth) & collections.Counter(answer)).values())
    return 2 * same / (len(truth) + len(answer)) if same else 0.0


def expected(model, tokenizer, data):
    is_v2 = data["version"] == "v2.0"
    answers, best, nbest, differences, questions, count = {}, {}, {}, {}, [], 0
    for one in data["data"][0]["paragraphs"]:
        for qa in one["qas"]:
            spans, null = candidates(model, tokenizer, qa["question"], one["context"], is_v2)
            count += sum(1 for _ in windows(tokenizer, qa["question"], one["context"]))
            text = next((x for x in spans if x["text"]), None)
            name = qa["id"]
            answers[name] = best[name] = text["text"]
            if is_v2:
                differences[name] = float(null["score"] - text["start_logit"] - text["end_logit"])
                if differences[name] > 0:
                    answers[name] = ""
            nbest[name] = [{"text": x["text"], **{k: float(x[k]) for k in ("probability", "start_logit", "end_logit")}} for x in spans[:5]]
            questions.append(qa)
    if is_v2:
        examples = [type("Example", (), {"qas_id": qa["id"], "answers": qa["answers"]}) for qa in questions]
        metrics = dict(squad_metrics.squad_evaluate(examples, answers))
        for key in [k for k in metrics if k.startswith("best_")]:
            del metrics[key]
        at_best = squad_metrics.squad_evaluate(examples, best, differences, float("inf"))
        metrics.update({k: v for k, v in at_best.items() if k.startswith("best_")})
        metrics["exact_match"] = metrics.pop("exact")
    else:
        same = lambda a, b: squad_metrics.normalize_answer(a) == squad_metrics.normalize_answer(b)
        exact = [max(same(a["text"], answers[qa["id"]]) for a in qa["answers"]) for qa in questions]
        f1 = [max(f1_v1(a["text"], answers[qa["id"]]) for a in qa["answers"]) for qa in questions]
        metrics = {"exact_match": 100.0 * sum(exact) / len(exact), "f1": 100.0 * sum(f1) / len(f1), "total": len(exact)}
    return {"windows": count, "metrics": metrics, "predictions": answers, "null_odds": differences, "nbest": nbest}


def main():
    random.seed(49)
    torch.manual_seed(49)
    torch.set_num_threads(1)
    tokenizer = make_tokenizer()
    model = train(tokenizer)
    for name, version in [("v1", "1.1"), ("v2", "v2.0")]:
        data = data_set(version, 24, 1000)
        (HERE / f"{name}.json").write_text(json.dumps(data, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
        found = expected(model, tokenizer, data)
        (HERE / f"{name}.expected.json").write_text(json.dumps(found, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
        print(name, found["windows"], "windows", found["metrics"])


if __name__ == "__main__":
    main()
