"""Trains the models of data/text and writes the texts that go with them, and known.json with what transformers
computes for them. Everything is drawn from fixed seeds:

    python data/text/make.py            # needs torch, transformers and tokenizers; about two minutes
    python data/text/make.py --answers  # known.json alone, from the files that are there

Texts are made up by this script and belong to the public domain.
"""
import csv
import json
import math
import random
import sys
from pathlib import Path

import numpy
import torch
import transformers
from tokenizers import ByteLevelBPETokenizer, BertWordPieceTokenizer

HERE = Path(__file__).resolve().parent
CLASSES = ["negative", "neutral", "positive"]

GOOD = ["wonderful", "delicious", "charming", "excellent", "lovely", "splendid", "delightful", "superb"]
BAD = ["terrible", "awful", "disappointing", "dreadful", "boring", "horrible", "miserable", "bland"]
PLAIN = ["ordinary", "average", "usual", "plain", "normal", "small", "large", "quiet"]
THINGS = ["soup", "café", "film", "hotel", "music", "crème brûlée", "service", "book", "garden", "concert", "room"]
TAILS = ["", "", " We stayed an hour.", " I paid 12.50 for it!", " My sister thought so, too.", " 😀", " Naïve of me, perhaps...",
         " Open from 9 to 5."]


def review(draw):
    """A text and the class that it most likely has."""
    label = draw.randrange(3)
    words = [BAD, PLAIN, GOOD][label]
    thing, other = draw.sample(THINGS, 2)
    form = draw.randrange(5)
    if form == 0:
        text = f"The {thing} was {draw.choice(words)}."
    elif form == 1:
        text = f"A {draw.choice(words)} {thing}, and the {other} was {draw.choice(words)}, too."
    elif form == 2 and label != 1:
        text = f"The {thing} was not {draw.choice(GOOD if label == 0 else BAD)} at all."
    elif form == 3:
        text = f"I found the {thing} quite {draw.choice(words)}, whatever they say about the {other}."
    else:
        text = f"What a {draw.choice(words)} {thing}! The {other} was {draw.choice(PLAIN)}."
    if draw.random() < 0.08:
        label = draw.randrange(3)
    return text + draw.choice(TAILS), label


FOODS = {"cat": "fish", "horse": "hay", "monkey": "bananas", "bear": "honey", "rabbit": "carrots", "mouse": "cheese",
         "cow": "grass", "squirrel": "nuts", "panda": "bamboo shoots", "owl": "mice and voles"}
PLACES = {"cat": "on the sofa", "horse": "in the stable", "monkey": "in a tree", "bear": "in a cave",
          "rabbit": "under the hill", "mouse": "behind the wall", "cow": "in the meadow", "squirrel": "in an old oak",
          "panda": "in the forest", "owl": "up in the church tower"}
NAMES = ["Anna", "Tom", "Mary", "Björn", "Zoë", "Peter"]


def story(draw):
    animal = draw.choice(list(FOODS))
    name = draw.choice(NAMES)
    lines = [f"The {animal} eats {FOODS[animal]}.", f"The {animal} sleeps {PLACES[animal]}.",
             f"{name} gave the {animal} some {FOODS[animal]}.", f"{name} saw a {animal} {PLACES[animal]}.",
             f"“What does the {animal} eat?” asked {name}. “It eats {FOODS[animal]}.”"]
    draw.shuffle(lines)
    return " ".join(lines[:draw.randrange(2, 5)]) + "\n"


def question(draw):
    animal = draw.choice(list(FOODS))
    asks_food = draw.random() < 0.5
    known = FOODS if asks_food else PLACES
    wrong = draw.sample([each for key, each in known.items() if key != animal], draw.randrange(1, 4))
    choices = wrong + [known[animal]]
    draw.shuffle(choices)
    gold = choices.index(known[animal]) if draw.random() > 0.15 else draw.randrange(len(choices))
    context = f"The {animal} eats" if asks_food else f"{draw.choice(NAMES)} saw a {animal}"
    return {"context": context, "choices": choices, "gold": gold}


def pair(draw):
    one, label = review(draw)
    if draw.random() < 0.5:
        words = one.split()
        words[draw.randrange(len(words))] = draw.choice(THINGS)
        return one, " ".join(words), 4.0 + draw.random()
    other, its = review(draw)
    return one, other, (2.0 if its == label else 0.0) + draw.random()


def write_texts():
    draw = random.Random(49)
    with open(HERE / "reviews.csv", "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["review", "mood"])
        for _ in range(300):
            text, label = review(draw)
            rows.writerow([text, CLASSES[label]])
    (HERE / "stories.txt").write_text("".join(story(draw) for _ in range(110)), encoding="utf-8")
    with open(HERE / "questions.jsonl", "w", encoding="utf-8") as file:
        for _ in range(60):
            file.write(json.dumps(question(draw), ensure_ascii=False) + "\n")
        file.write(json.dumps({"context": "", "choices": ["The cat eats fish.", "Zoë"], "gold": 0}, ensure_ascii=False) + "\n")
    with open(HERE / "pairs.csv", "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["one", "other", "score"])
        for _ in range(75):
            one, other, score = pair(draw)
            rows.writerow([one, other, f"{score:.3f}"])


def train(model, batches, rate):
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate)
    model.train()
    for step, batch in enumerate(batches):
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % 100 == 0:
            print(step, f"{loss.item():.4f}", flush=True)
    return model.eval()


def wordpiece(texts, folder, size):
    made = BertWordPieceTokenizer(lowercase=True)
    made.train_from_iterator(texts, vocab_size=size, min_frequency=2, show_progress=False)
    fast = transformers.BertTokenizerFast(tokenizer_object=made._tokenizer, model_max_length=64)
    fast.save_pretrained(folder)
    return fast


def make_classifier():
    draw = random.Random(1)
    examples = [review(draw) for _ in range(4000)]
    tokenizer = wordpiece([text for text, _ in examples], HERE / "classifier", 400)
    config = transformers.BertConfig(vocab_size=len(tokenizer), hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
                                     intermediate_size=128, max_position_embeddings=64, num_labels=3,
                                     id2label=dict(enumerate(CLASSES)), label2id={n: i for i, n in enumerate(CLASSES)})
    torch.manual_seed(1)
    model = transformers.BertForSequenceClassification(config)

    def batches():
        for step in range(400):
            chosen = [examples[(step * 32 + i) % len(examples)] for i in range(32)]
            read = tokenizer([text for text, _ in chosen], padding=True, truncation=True, return_tensors="pt")
            yield {**read, "labels": torch.tensor([label for _, label in chosen])}

    train(model, batches(), 1e-3).save_pretrained(HERE / "classifier")


def make_language_model():
    draw = random.Random(2)
    text = "".join(story(draw) for _ in range(3000))
    made = ByteLevelBPETokenizer()
    made.train_from_iterator([text], vocab_size=420, min_frequency=2, special_tokens=["<|endoftext|>"], show_progress=False)
    tokenizer = transformers.GPT2TokenizerFast(tokenizer_object=made._tokenizer, model_max_length=64)
    tokenizer.save_pretrained(HERE / "language")
    ids = torch.tensor(tokenizer(text).input_ids)
    end = tokenizer.convert_tokens_to_ids("<|endoftext|>")
    config = transformers.GPT2Config(vocab_size=len(tokenizer), n_positions=64, n_embd=64, n_layer=3, n_head=4,
                                     bos_token_id=end, eos_token_id=end, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0)
    torch.manual_seed(2)
    model = transformers.GPT2LMHeadModel(config)
    torch.manual_seed(3)

    def batches():
        for _ in range(500):
            starts = torch.randint(0, len(ids) - 65, (24,)).tolist()
            block = torch.stack([ids[at:at + 64] for at in starts])
            block[::6, 0] = end
            yield {"input_ids": block, "labels": block}

    train(model, batches(), 2e-3).save_pretrained(HERE / "language")


def make_sentences():
    """An encoder that is not trained: its mean embedding still tells which words two sentences share."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(HERE / "classifier")
    folder = HERE / "sentences"
    tokenizer.save_pretrained(folder)
    torch.manual_seed(5)
    config = transformers.BertConfig(vocab_size=len(tokenizer), hidden_size=32, num_hidden_layers=1, num_attention_heads=2,
                                     intermediate_size=64, max_position_embeddings=64, initializer_range=0.3)
    transformers.BertModel(config, add_pooling_layer=False).save_pretrained(folder)
    (folder / "1_Pooling").mkdir(exist_ok=True)
    kinds = ["Transformer", "Pooling", "Normalize"]
    (folder / "modules.json").write_text(json.dumps(
        [{"idx": i, "name": str(i), "path": "" if i == 0 else f"{i}_{kind}", "type": f"sentence_transformers.models.{kind}"}
         for i, kind in enumerate(kinds)], indent=2) + "\n")
    (folder / "1_Pooling/config.json").write_text(json.dumps(
        {"word_embedding_dimension": 32, "pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True,
         "pooling_mode_max_tokens": False, "pooling_mode_mean_sqrt_len_tokens": False}, indent=2) + "\n")


def table(name):
    with open(HERE / name, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def known_classes():
    tokenizer = transformers.AutoTokenizer.from_pretrained(HERE / "classifier")
    model = transformers.AutoModelForSequenceClassification.from_pretrained(HERE / "classifier").eval()
    rows = table("reviews.csv")
    logits = []
    for row in rows:
        logits.append(model(**tokenizer(row["review"], return_tensors="pt")).logits[0].double())
    logits = torch.stack(logits)
    labels = torch.tensor([model.config.label2id[row["mood"]] for row in rows])
    return {"labels": labels.tolist(), "predictions": logits.argmax(1).tolist(),
            "correct": int((logits.argmax(1) == labels).sum()),
            "cross_entropy": torch.nn.functional.cross_entropy(logits, labels).item(),
            "first_logits": [row.tolist() for row in logits[:3]],
            "first_inputs": dict(tokenizer([row["review"] for row in rows[:4]], padding=True)),
            "first_pairs": dict(tokenizer([row["one"] for row in table("pairs.csv")[:4]],
                                          [row["other"] for row in table("pairs.csv")[:4]], truncation=True,
                                          max_length=24, padding="max_length"))}


def windows(ids, block, stride):
    """Those of Hugging Face's page on the perplexity of models of fixed length: each token is scored once, with as much
    context as its window has."""
    before = 0
    for begin in range(0, len(ids), stride):
        end = min(begin + block, len(ids))
        target = ids[begin:end].clone()
        target[:len(target) - (end - before)] = -100
        yield ids[begin:end], target
        before = end
        if end == len(ids):
            break


def known_perplexity(block, stride):
    tokenizer = transformers.AutoTokenizer.from_pretrained(HERE / "language")
    model = transformers.AutoModelForCausalLM.from_pretrained(HERE / "language").eval()
    text = (HERE / "stories.txt").read_text(encoding="utf-8")
    read = tokenizer(text, return_offsets_mapping=True)
    ids = torch.tensor(read.input_ids)
    ends = [len(text[:end].encode()) for _, end in read.offset_mapping]
    total, tokens, size, right, count, begin = 0.0, 0, 0, 0, 0, 0
    page, shown = [], []
    for given, target in windows(ids, block, stride):
        count += 1
        shown.append({"input_ids": given.tolist(), "labels": target[1:].tolist() + [-100]})
        output = model(input_ids=given[None], labels=target[None])
        losses = torch.nn.functional.cross_entropy(output.logits[0, :-1].double(), target[1:], ignore_index=-100,
                                                   reduction="none")
        scored = target[1:] != -100
        total += losses.sum().item()
        tokens += int(scored.sum())
        right += int((output.logits[0, :-1].argmax(1) == target[1:])[scored].sum())
        for at in scored.nonzero().flatten().tolist():
            size += ends[begin + at + 1] - ends[begin + at]
        if int(scored.sum()) > 0:
            page.append((output.loss.double().item(), int((target != -100).sum()) - 1))
        begin += stride
    return {"block": block, "stride": stride, "windows": count, "some": [shown[0], shown[1], shown[-1]], "tokens": tokens, "bytes": size, "nll": total,
            "correct": right, "perplexity": math.exp(total / tokens), "bits_per_byte": total / math.log(2) / size,
            "perplexity_of_page": math.exp(sum(loss * n for loss, n in page) / sum(n for _, n in page))}


def known_choices():
    """The requests and formulas of lm-evaluation-harness for multiple choice, with its delimiter of one space."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(HERE / "language")
    model = transformers.AutoModelForCausalLM.from_pretrained(HERE / "language").eval()
    made = []
    for line in (HERE / "questions.jsonl").read_text(encoding="utf-8").splitlines():
        read = json.loads(line)
        sums, requests = [], []
        for choice in read["choices"]:
            context, rest = read["context"], " " + choice
            if context == "":
                before = [tokenizer.bos_token_id]
                tokens = before + tokenizer(rest).input_ids
            else:
                spaces = len(context) - len(context.rstrip())
                if spaces > 0:
                    context, rest = context[:-spaces], context[-spaces:] + rest
                tokens = tokenizer(context + rest).input_ids
                before = tokenizer(context).input_ids
            inputs = torch.tensor(tokens[-(64 + 1):][:-1])
            wanted = torch.tensor(tokens[len(before):])
            requests.append([inputs.tolist(), wanted.tolist()])
            logs = torch.log_softmax(model(inputs[None]).logits[0].double(), -1)[-len(wanted):]
            sums.append(logs.gather(1, wanted[:, None]).sum().item())
        lengths = numpy.array([float(len(each)) for each in read["choices"]])
        sizes = numpy.array([float(len(each.encode())) for each in read["choices"]])
        made.append({"gold": read["gold"], "requests": requests, "log_likelihoods": sums, "best": int(numpy.argmax(sums)),
                     "best_norm": int(numpy.argmax(sums / lengths)), "best_bytes": int(numpy.argmax(sums / sizes))})
    count = len(made)
    share = {name: sum(each[best] == each["gold"] for each in made) / count
             for name, best in [("acc", "best"), ("acc_norm", "best_norm"), ("acc_bytes", "best_bytes")]}
    error = {name + "_stderr": math.sqrt(value * (1 - value) / (count - 1)) for name, value in share.items()}
    return {**share, **error, "questions": made}


def known_pairs():
    tokenizer = transformers.AutoTokenizer.from_pretrained(HERE / "sentences")
    model = transformers.AutoModel.from_pretrained(HERE / "sentences", add_pooling_layer=False).eval()
    rows = table("pairs.csv")

    def embedding(text):
        made = model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0].double().mean(0)
        return made / made.norm()

    cosines = [float(embedding(row["one"]) @ embedding(row["other"])) for row in rows]
    scores = [float(row["score"]) for row in rows]

    def ranks(values):
        values = numpy.array(values)
        return [float((values < each).sum() + ((values == each).sum() + 1) / 2) for each in values]

    return {"cosines": cosines, "pearson": float(numpy.corrcoef(cosines, scores)[0, 1]),
            "spearman": float(numpy.corrcoef(ranks(cosines), ranks(scores))[0, 1])}


def main():
    torch.set_num_threads(1)
    if "--answers" not in sys.argv:
        write_texts()
        make_classifier()
        make_language_model()
        make_sentences()
        for folder in ["classifier", "language", "sentences"]:
            for left in ["vocab.txt", "vocab.json", "merges.txt", "special_tokens_map.json", "generation_config.json"]:
                (HERE / folder / left).unlink(missing_ok=True)
    with torch.inference_mode():
        known = {"made with": f"torch {torch.__version__}, transformers {transformers.__version__}",
                 "classes": known_classes(),
                 "language": [known_perplexity(64, 64), known_perplexity(64, 32), known_perplexity(48, 20)],
                 "choices": known_choices(), "pairs": known_pairs()}
    (HERE / "known.json").write_text(json.dumps(known, separators=(",", ":")).replace('},{', '},\n{') + "\n")
    print({key: value for key, value in known["classes"].items() if key in ["correct", "cross_entropy"]})
    print([each["perplexity"] for each in known["language"]],
          {k: v for k, v in known["choices"].items() if k != "questions"}, known["pairs"]["pearson"],
          known["pairs"]["spearman"])


main()
