#!/usr/bin/env python3
"""Goal: the schemas of docs/schema take what Troupe writes and reads, and nothing else.
Method: results and plans of real runs are validated by the package jsonschema against schemas that allow no other
fields; each field of a schema has to occur in one of them; each wrong document that is made from a right one has to be
refused. TOML texts get one verdict from the schema and from the program.

    schema_test.py TROUPE SCHEMA_DOCUMENTS SOURCE_DIR
"""
import copy
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import tomllib

LENET = ["--model", "data/mnist/lenet.pt", "--data", "mnist:data/mnist", "--limit", "300", "--threads", "1"]
RECORDED = "tests/cli/recorded"
ALL_METRICS = "accuracy,top3,per_class_accuracy,confusion_matrix,cross_entropy,nll,f1"
# schema_documents adds results that have what these have not.
EVALUATIONS = {
    "one stage": LENET,
    "all metrics, two replicas": [*LENET, "--stages", "2", "--replicas", "2", "--metrics", ALL_METRICS],
    "a kill": [*LENET, "--stages", "2", "--processes", "--fault", "kill:stage=stage.1,at=mb2", "--fault",
                "kill:stage=stage.0,at=100s"],
    "a journal": [*LENET, "--journal", "{scratch}/run.journal"],
    "a resumed run": [*LENET, "--journal", "{scratch}/run.journal", "--resume"],
    "left out": ["--model", f"{RECORDED}/shared_traced.pt", "--data",
                  f"npy:{RECORDED}/inputs.npy,{RECORDED}/labels.npy,ignore=1", "--optimize", "none"],
    "regression": ["--model", f"{RECORDED}/shared_traced.pt", "--data", "npy:{scratch}/inputs.npy,{scratch}/zeros.npy",
                    "--metrics", "mae,mse,rmse"],
    "intervals": [*LENET, "--confidence", "0.9", "--metrics", "accuracy,precision,recall,f1,fbeta,specificity,balanced_accuracy,"
                  "matthews,cohen_kappa,auroc,average_precision,log_loss,brier,calibration_error,perplexity,token_accuracy,"
                  "cross_entropy:weight=1+2+1+1+1+1+1+1+1+1"],
    "bins": [*LENET, "--metrics", "auroc:bins=100"],
    "several labels": ["--model", f"{RECORDED}/shared_traced.pt", "--data", "npy:{scratch}/inputs.npy,{scratch}/marks.npy",
                       "--metrics", "mean_average_precision:from=logits,subset_accuracy:threshold=0,"
                       "multilabel_accuracy:threshold=0,hamming_loss:threshold=0:confidence=0.9"],
    "questions": ["--model", "data/questions/model", "--data",
                  "squad:data/questions/v2.json,tokenizer=data/questions/model,max-length=128,stride=32", "--metrics", "squad"],
    "choices": ["--model", "data/text/language", "--data", "choices:data/text/questions.jsonl,tokenizer=data/text/language",
                "--limit", "40", "--metrics", "multiple_choice"],
    "sentences": ["--model", "data/text/sentences", "--data", "csv:data/text/pairs.csv,text=one,pair=other,each-alone,"
                  "target=score,tokenizer=data/text/sentences", "--score-output", "sentence_embedding", "--metrics",
                  "sentence_similarity"],
    "bytes": ["--model", f"{RECORDED}/shared_traced.pt", "--data",
              "npy:input={scratch}/inputs.npy,right={scratch}/first.npy,bytes={scratch}/first.npy,label=right+bytes",
              "--score-label", "right",
              "--metrics", "bits_per_byte:bytes=bytes"],
    "every option": [*LENET, "--processes", "--transport", "tcp", "--forward-deadline", "30", "--deadline", "600",
                      "--num-pipe-buffers", "3", "--log", "{scratch}/run.log", "--log-format", "json"],
    "a DeepSpeed configuration": [*LENET, "--config", "{scratch}/ds.json"],
}
PLANS = {
    "without data": ["--model", "data/cifar10/resnet20.pt", "--stages", "4"],
    "with data": [*LENET, "--stages", "3"],
    "one stage": LENET,
    "boundaries": [*LENET, "--stages", "2", "--partition", "0,5,15", "--replicas", "2"],
    "on nodes": [*LENET, "--stages", "2", "--hostfile", "{scratch}/hosts"],
    "on nodes without data": ["--model", "data/mnist/lenet.pt", "--stages", "2", "--hostfile", "{scratch}/hosts"],
}
# TOML texts, and whether they are right.
TEXTS = {
    'stages = 4\nmetrics = ["accuracy", "top5"]\nthreads = "auto"': True,
    'deadline = 60\nworker_timeout = 1.5\nprocesses = true': True,
    'optimize = "stage"': True,
    'fault = ["kill:loader,at=mb1"]': True,
    '[[fault]]\nkind = "kill"\nstage = 1\nat = "mb17"\n[[fault]]\nkind = "slow"\nstage = "stage.0"\nms = 5': True,
    '[[fault]]\nkind = "half_open"\nedge = "stage.0-stage.1"\ndirection = "back"\nfor = 2.5': True,
    'stage = 4': False,
    'stages = "4"': False,
    'stages = 0': False,
    'stages = 1025': False,
    'threads = "many"': False,
    'deadline = 0': False,
    'json = 1': False,
    'metrics = "accuracy"': False,
    'metrics = []': False,
    'metrics = ["acuracy"]': False,
    'metrics = ["nll", "nll"]': False,
    'metrics = ["top0"]': False,
    'data = "minst:x"': False,
    'data = "data"': False,
    'partition = "unifrom"': False,
    'transport = "udp"': False,
    'dtype = "int8"': False,
    'device = "gpu"': False,
    'journal = ""': False,
    'fault = [3]': False,
    '[[fault]]\nstage = 1\nat = "mb1"': False,
    '[[fault]]\nkind = "kil"\nstage = 1\nat = "mb1"': False,
    '[[fault]]\nkind = "kill"\nstage = 1\nwhen = "mb1"': False,
    '[[fault]]\nkind = "kill"\nloader = false\nat = "mb1"': False,
    '[eval]\nstages = 4': False,
}


def closed(schema):
    """The schema without the freedom to add fields."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: closed(value) for key, value in schema.items()}
    if isinstance(schema.get("properties"), dict) and "type" in schema:
        made.setdefault("additionalProperties", False)
    return made


class Schema:
    def __init__(self, folder, name):
        from jsonschema import Draft202012Validator
        self.name = name
        self.text = json.loads((folder / f"{name}.schema.json").read_text())
        Draft202012Validator.check_schema(self.text)
        self.open = Draft202012Validator(self.text)
        self.closed = Draft202012Validator(closed(self.text))

    def expect(self, what, document):
        for error in self.closed.iter_errors(document):
            raise AssertionError(f"{self.name}, {what}: {list(error.absolute_path)}: {error.message[:300]}")
        assert self.open.is_valid(document), what

    def refuses(self, document):
        return not self.open.is_valid(document)

    def resolved(self, part):
        while "$ref" in part:
            part = self.text["$defs"][part["$ref"].removeprefix("#/$defs/")]
        return part

    def fields(self, part=None, path="", place=""):
        """The paths of all properties, as paths_of() writes them, each with the place where the schema defines it: many paths
        may lead to one definition."""
        part = self.text if part is None else part
        place = part.get("$ref", place)
        part = self.resolved(part)
        found = {}
        for key, value in part.get("properties", {}).items():
            found |= {f"{path}.{key}": f"{place}.{key}"} | self.fields(value, f"{path}.{key}", f"{place}.{key}")
        if isinstance(part.get("items"), dict):
            found |= self.fields(part["items"], f"{path}[]", f"{place}[]")
        return found

    def unseen(self, paths):
        """Definitions to which none of the paths of documents leads."""
        fields = self.fields()
        return sorted(set(fields.values()) - {fields[path] for path in paths if path in fields})


def paths_of(document, path=""):
    """Of all values; the elements of an array have one path."""
    if isinstance(document, dict):
        named = [(f"{path}.{key.split(':')[0]}", value) for key, value in document.items()]  # of a metric without its options
        return set().union(*({place} | paths_of(value, place) for place, value in named))
    if isinstance(document, list):
        return set().union(*(paths_of(value, f"{path}[]") for value in document))
    return set()


def places_in(document, place=()):
    """Every key and index, outermost first."""
    items = document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    for key, value in items:
        yield (*place, key)
        yield from places_in(value, (*place, key))


def changed(document, place, change):
    made = copy.deepcopy(document)
    holder = made
    for key in place[:-1]:
        holder = holder[key]
    change(holder, place[-1])
    return made


def check_that_wrong_documents_are_refused(schema, document):
    """Another type at each place; each field of the top level and of its objects gone that is not optional."""
    def another_type(holder, key):
        holder[key] = {"a": {"b": {}}} if not isinstance(holder[key], dict) else 7

    count = 0
    for place in places_in(document):
        assert schema.refuses(changed(document, place, another_type)), f"{schema.name} takes another type at {place}"
        count += 1
    optional = {"left_out", "cut_by", "bits_depend_on", "plain_pipelines", "warnings", "sinks", "samples"}
    for place in [(key,) for key in document] + [(key, name) for key in ("delivery", "config") for name in document.get(key, ())]:
        if place[-1] in optional and place != ("samples",):
            continue
        assert schema.refuses(changed(document, place, lambda holder, key: holder.pop(key))), f"{schema.name} misses no {place}"
        count += 1
    return count


def write_npy(path, kind, shape, data):
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data)


class Program:
    def __init__(self, troupe, documents, source, scratch):
        self.troupe, self.documents, self.source, self.scratch = troupe, documents, source, scratch

    def run(self, command, flags):
        words = [each.replace("{scratch}", str(self.scratch)) for each in flags]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("TROUPE_")}
        return subprocess.run([self.troupe, command, *words], cwd=self.source, env=environment, capture_output=True,
                              text=True, timeout=300)

    def json(self, command, flags):
        done = self.run(command, [*flags, "--json"])
        assert done.returncode == 0, f"{command} {flags}: {done.returncode}\n{done.stderr}"
        return json.loads(done.stdout)

    def more_results(self):
        done = subprocess.run([self.documents, "data"], cwd=self.source, capture_output=True, text=True, check=True)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def takes_config(self, text):
        path = self.scratch / "run.toml"
        path.write_text(text)
        done = self.run("print-config", ["--config", str(path)])
        assert done.returncode in (0, 3), done.stderr
        return done.returncode == 0


def check_results(schema, program):
    seen, results = set(), []
    for what, flags in EVALUATIONS.items():
        results.append(program.json("eval", flags))
        schema.expect(what, results[-1])
    for result in program.more_results():
        schema.expect("a result of schema_documents", result)
        results.append(result)
    for result in results:
        seen |= paths_of(result)
    assert not schema.unseen(seen), f"in no result: {schema.unseen(seen)}"
    wrong = sum(check_that_wrong_documents_are_refused(schema, result) for result in (results[2], results[-1]))
    more = {**results[0], "new_field": 1}
    assert schema.open.is_valid(more) and not schema.closed.is_valid(more)
    for broken in ({**results[0], "schema_version": 1}, {**results[0], "partial": True}, {**results[0], "samples": -1}):
        assert schema.refuses(broken)
    print(f"{len(results)} results are right, {wrong} wrong ones are refused")


def check_plans(schema, program):
    plans = [program.json("plan", flags) for flags in PLANS.values()]
    for what, plan in zip(PLANS, plans):
        schema.expect(what, plan)
    seen = set().union(*map(paths_of, plans))
    assert not schema.unseen(seen), f"in no plan: {schema.unseen(seen)}"
    wrong = sum(check_that_wrong_documents_are_refused(schema, plan) for plan in plans[-2:])
    print(f"{len(plans)} plans are right, {wrong} wrong ones are refused")


def check_watches(schema, program):
    """One that evaluates, one whose checkpoint is damaged, one without any."""
    folder = program.scratch / "runs"
    folder.mkdir()
    waits = ["--once", "--settle", "0", "--wait", "0"]
    watch = ["watch", [str(folder), *LENET[2:], *waits]]
    schema.expect("no checkpoint", program.json(*watch))
    shutil.copy(program.source / LENET[1], folder / "step-1.pt")
    (folder / "step-2.pt").write_text("damaged")
    result = program.json(*watch)
    schema.expect("two checkpoints", result)
    assert not schema.unseen(paths_of(result)), f"in no watch: {schema.unseen(paths_of(result))}"
    assert schema.refuses({**result, "stopped": "never"}) and schema.refuses({**result, "best": 1})


def check_comparisons(schema, program):
    metrics = ["--metrics", ALL_METRICS, "--resamples", "10"]
    result = program.json("compare", [LENET[1], LENET[1], *LENET[2:], *metrics])
    schema.expect("two models", result)
    missing = schema.fields().keys() - paths_of(result) - {".warnings", ".partial", ".errors"}
    assert not {each for each in missing if not each.startswith(".errors")}, f"in no comparison: {sorted(missing)}"
    assert schema.refuses({**result, "models": result["models"][:1]}) and schema.refuses({**result, "samples": -1})


def check_trainings(schema, program):
    """Of both kinds of optimizers, with a kill, one that is resumed, and one whose data leave samples out."""
    train = [*LENET, "--loss", "nll", "--micro-batch", "50", "--lr", "1e-4"]
    save = ["--save", "{scratch}/trained"]
    evaluate = ["--eval-data", LENET[3], "--metrics", "accuracy", "--patience", "3"]
    kill = ["--stages", "2", "--processes", "--fault", "kill:stage=stage.1,at=mb0"]
    results = [program.json("train", [*train, "--steps", "2", *evaluate, *save, "--clip-norm", "1"]),
               program.json("train", [*train, "--steps", "3", *save, "--resume"]),
               program.json("train", [*train, "--epochs", "1", "--optimizer", "adam", *kill]),
               program.json("train", [*EVALUATIONS["left out"][:4], "--epochs", "1"])]
    for result in results:
        schema.expect("a training", result)
    optional = ("warnings", "partial", "errors", "note")
    unseen = [each for each in schema.unseen(set().union(*map(paths_of, results))) if not any(name in each for name in optional)]
    assert not [each for each in unseen if not each.startswith("#/$defs/error")], f"in no training: {unseen}"
    assert schema.refuses({**results[0], "steps": -1}) and schema.refuses({**results[0], "partial": True})


def toml_blocks(page):
    return re.findall(r"^```toml\n(.*?)^```$", page.read_text(), re.M | re.S)


def check_configs(schema, program):
    printed = program.run("print-config", ["--num-pipe-buffers", "4", "--stages", "2", "--fault", "kill:loader,at=mb1"])
    texts = {printed.stdout: True, **TEXTS}
    for page in sorted((program.source / "docs").glob("*.md")):
        texts.update(dict.fromkeys(toml_blocks(page), True))
    assert len(texts) > len(TEXTS) + 2
    for text, is_right in texts.items():
        assert program.takes_config(text) == is_right, f"troupe print-config and this table differ on\n{text}"
        assert schema.refuses(tomllib.loads(text)) != is_right, f"the schema and troupe print-config differ on\n{text}"
    print(f"{len(texts)} TOML texts have one verdict")


def find_jsonschema():
    """In this Python, or else in that of the system, where Debian's package is."""
    def has_it(python):
        return subprocess.run([python, "-c", "from jsonschema import Draft202012Validator"], capture_output=True).returncode == 0

    system = "/usr/bin/python3"
    if has_it(sys.executable):
        return
    if os.path.realpath(sys.executable) == os.path.realpath(system) or not os.path.exists(system) or not has_it(system):
        print("skipped: the Python package jsonschema is not installed (scripts/setup.sh --check installs it)")
        sys.exit(77)
    os.execv(system, [system, *sys.argv])


def main():
    find_jsonschema()
    troupe, documents, source = (pathlib.Path(each).resolve() for each in sys.argv[1:4])
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        write_npy(scratch / "inputs.npy", "<f4", (8, 1, 6, 6), bytes(8 * 36 * 4))
        write_npy(scratch / "zeros.npy", "<f4", (8, 5), bytes(8 * 5 * 4))
        write_npy(scratch / "marks.npy", "<i8", (8, 5), struct.pack("<40q", *(place % 3 % 2 for place in range(40))))
        write_npy(scratch / "first.npy", "<i8", (8,), struct.pack("<8q", *(1 for _ in range(8))))
        (scratch / "hosts").write_text("w0 slots=1\nw1 slots=1\n")
        (scratch / "ds.json").write_text('{"train_batch_size": 50, "fp16": {"enabled": false}}')
        program = Program(troupe, documents, source, scratch)
        schemas = source / "docs/schema"
        check_configs(Schema(schemas, "config"), program)
        check_plans(Schema(schemas, "plan"), program)
        check_results(Schema(schemas, "result"), program)
        check_watches(Schema(schemas, "watch"), program)
        check_comparisons(Schema(schemas, "compare"), program)
        check_trainings(Schema(schemas, "train"), program)


if __name__ == "__main__":
    main()
