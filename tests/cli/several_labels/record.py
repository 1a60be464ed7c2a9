"""Writes the other files of this folder for several_labels_test.cpp: python3 record.py, with PyTorch, transformers and
scikit-learn.

Samples with three labels of 0 and 1, and with three numbers, as a CSV file, as JSON lines and as an archive of NumPy;
texts with three labels, for the classifier in data/text. expected.json has what scikit-learn gives of the logits of eager
PyTorch.
"""

import csv
import json
import os

import numpy
import sklearn.metrics
import torch
import transformers

here = os.path.dirname(os.path.abspath(__file__))
classifier = os.path.join(here, "../../../data/text/classifier")
reviews = os.path.join(here, "../../../data/text/reviews.csv")
samples, inputs, labels = 60, 4, 3


def place(name):
    return os.path.join(here, name)


def labels_like(logits, random):
    """Right of a label more often than not, and never of one kind alone."""
    wanted = (logits + 2 * logits.std(0) * random.standard_normal(logits.shape) > logits.mean(0)).astype(int)
    wanted[0], wanted[1] = 0, 1
    return wanted


def scores(logits, wanted):
    shares = 1 / (1 + numpy.exp(-logits))
    predicted = (logits > 0).astype(int)
    sklearn_log_loss = [sklearn.metrics.log_loss(wanted[:, j], shares[:, j]) for j in range(labels)]
    return {
        "auroc": sklearn.metrics.roc_auc_score(wanted, logits, average="macro"),
        "mean_average_precision": sklearn.metrics.average_precision_score(wanted, logits, average="macro"),
        "auroc:average=micro": sklearn.metrics.roc_auc_score(wanted, logits, average="micro"),
        "subset_accuracy:threshold=0": sklearn.metrics.accuracy_score(wanted, predicted),
        "hamming_loss:threshold=0": sklearn.metrics.hamming_loss(wanted, predicted),
        "log_loss": float(numpy.mean(sklearn_log_loss)),
    }


def write_tables(x, wanted, numbers):
    names = [f"x{j}" for j in range(inputs)]
    columns = names + ["rain", "wind", "more snow"] + ["low", "middle", "high"]
    with open(place("rows.csv"), "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["name"] + columns)
        for i in range(samples):
            rows.writerow([f"day {i}", *x[i].tolist(), *wanted[i].tolist(), *numbers[i].tolist()])
    with open(place("rows.jsonl"), "w") as file:
        for i in range(samples):
            row = {"id": f"day {i}", "x": x[i].tolist(), "weather": wanted[i].tolist(), "t": numbers[i].tolist()}
            file.write(json.dumps(row) + "\n")
    numpy.savez(place("rows.npz"), x=x, weather=wanted.astype("<f4"), t=numbers)


def main():
    torch.manual_seed(0)
    random = numpy.random.default_rng(0)
    model = torch.nn.Sequential(torch.nn.Linear(inputs, 8), torch.nn.Tanh(), torch.nn.Linear(8, labels)).eval()
    x = random.standard_normal((samples, inputs)).astype("<f4")
    torch.jit.trace(model, torch.from_numpy(x[:2])).save(place("model.pt"))
    with torch.no_grad():
        logits = model(torch.from_numpy(x)).double().numpy()
    wanted = labels_like(logits, random)
    numbers = (logits + random.standard_normal(logits.shape)).astype("<f4")
    write_tables(x, wanted, numbers)
    regression = {
        "mse": sklearn.metrics.mean_squared_error(numbers, logits),
        "mae": sklearn.metrics.mean_absolute_error(numbers, logits),
    }

    with open(reviews, newline="") as file:
        texts = [row["review"] for row in csv.DictReader(file)][:40]
    tokens = transformers.AutoTokenizer.from_pretrained(classifier)(texts, padding=True, return_tensors="pt")
    with torch.no_grad():
        of_texts = transformers.AutoModelForSequenceClassification.from_pretrained(classifier).eval()(**tokens).logits
    of_texts = of_texts.double().numpy()
    wanted_of_texts = labels_like(of_texts, random)
    with open(place("texts.csv"), "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["who", "text", "a", "b", "c"])
        for i, text in enumerate(texts):
            rows.writerow([f"r{i}", text, *wanted_of_texts[i].tolist()])
    with open(place("texts.jsonl"), "w") as file:
        for i, text in enumerate(texts):
            file.write(json.dumps({"who": f"r{i}", "text": text, "all": wanted_of_texts[i].tolist()}) + "\n")
    with open(place("expected.json"), "w") as file:
        everything = {"labels": scores(logits, wanted), "numbers": regression, "texts": scores(of_texts, wanted_of_texts)}
        json.dump(everything, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
