"""Runs every file that make_zoo.py made through Troupe and prints a table in Markdown.

Usage: python zoo_table.py FOLDER BIN [NAME ...]

BIN is the folder of the programs zoo_run and zoo_cuts. FOLDER/results.jsonl keeps what they printed; models that are
named, or all that have no result there, are run. With "-" as BIN nothing is run. "eager" means: the bits of PyTorch. A
number is the largest difference over the largest magnitude of the output.
"""

import json
import os
import re
import subprocess
import sys

FORMS = {"traced.pt": "trace", "scripted.pt": "script", "exported.pt2": "`.pt2`"}
TIME_LIMIT_SECONDS = 600
HEADS = ["model", "form", "1 stage", "2 and 4 stages", "3 processes, a kill", "cuts between operators", "optimized"]
HEADS += ["2 and 4 stages", "samples alone", "reason"]
FUSED = "eager PyTorch runs attention as one fused operator, the file has plain ones"
EXAMPLE = "a trace keeps the branches and rounds of its example"
TOGETHER = "the model decides by all samples of a batch together"
# Why bits differ, where neither an error nor Troupe says it.
KNOWN = {("vit", "exported.pt2"): FUSED, ("encoder", "exported.pt2"): FUSED, ("loop", "traced.pt"): EXAMPLE}
KNOWN |= {("loop", "scripted.pt"): TOGETHER, ("cond", "exported.pt2"): TOGETHER, ("while_loop", "exported.pt2"): TOGETHER}


def json_lines(text):
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def printed(*command):
    """The JSON lines that a program printed, and why it ended where it ended early."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIME_LIMIT_SECONDS)
    except subprocess.TimeoutExpired as early:
        return [*json_lines((early.stdout or b"").decode()), {"error": f"no end after {TIME_LIMIT_SECONDS} s"}]
    lines = json_lines(done.stdout)
    if done.returncode != 0:
        lines.append({"error": f"ended with status {done.returncode}: {' '.join(done.stderr.splitlines()[:2])}"})
    return lines


def results_of(programs, folder, name):
    """The runs of all forms of one model."""
    forms = {}
    for form in FORMS:
        files = [f"{folder}/{name}/{form}", f"{folder}/{name}/data.pt"]
        if os.path.exists(files[0]):
            runs = printed(f"{programs}/zoo_run", *files) + printed(f"{programs}/zoo_run", *files, "--processes")
            forms[form] = {"runs": runs, "cuts": printed(f"{programs}/zoo_cuts", *files)[0]}
    return forms


def found(runs, **wanted):
    matching = [run for run in runs if all(run.get(key) == value for key, value in wanted.items())]
    return {**wanted, **(matching[0] if matching else {"error": "did not run"})}


def short(error):
    """The error without the path, which the row names, and without the fix."""
    text = error.splitlines()[0].removeprefix("error ")
    code, _, rest = text.partition(": ")
    if rest.startswith("/"):
        rest = rest.partition(": ")[2] or rest
    rest = re.sub(r"/\S*/site-packages/", "", rest.replace(" (troupe inspect lists them)", ""))
    return f"{code}: {rest}"[:200].replace("|", "/")


def failure(run):
    """E0106: there are fewer layers than stages, which is no fault of the model."""
    return "few layers" if "E0106" in run["error"] else "fails"


def against_eager(run):
    if "error" in run:
        return failure(run)
    return "eager" if run["differing"] == 0 else f"{run['relative']:.1e}"


def against_first(run, first):
    """Whether a run gave the bits of the first one."""
    if "error" in run:
        return failure(run)
    return "equal" if run["hash"] == first.get("hash") else f"{run['relative']:.1e}"


def over_cuts(runs, first):
    others = {stages: against_first(found(runs, stages=stages, optimize=first["optimize"], processes=False), first)
              for stages in (2, 4)}
    if set(others.values()) == {"equal"}:
        return "equal"
    return ", ".join(f"{stages}: {text}" for stages, text in others.items())


def with_kill(runs, first):
    run = found(runs, processes=True)
    if "error" not in run and (run.get("kills") != 1 or run["lost"] != 0):
        return f"{run.get('kills')} kills, {run['lost']} lost"
    return against_first(run, first)


def between_operators(cuts):
    if "error" in cuts or not cuts:
        return "fails" if cuts else "–"
    places = [cuts[f"{form}{batch}"] for form in ("cuts", "rewritten_cuts") for batch in (2, 3)]
    wrong = sum(place["wrong"] for place in places)
    return f"{sum(place['tried'] for place in places)} equal" if wrong == 0 else f"{wrong} differ"


def alone(cuts):
    if "error" in cuts or not cuts:
        return "fails" if cuts else "–"
    return "equal" if all(cuts[f"rewritten{batch}"]["alone"] for batch in (2, 3)) else "differ"


def reasons(line, form, result, plain, optimized):
    """Of failures first, then of other bits than PyTorch's, then of other bits of samples alone."""
    errors = [run["error"] for run in [*result["runs"], result["cuts"]] if "error" in run]
    if errors:
        yield short(next((error for error in errors if "E0106" not in error), errors[0]))
    if (line["name"], form) in KNOWN:
        yield KNOWN[line["name"], form]
    elif alone(result["cuts"]) == "differ":
        yield "the bits depend on " + optimized.get("bits_depend_on", "an unknown operator")
    if plain.get("differing") and line.get("equal_without_gradients") is False:
        yield "PyTorch gives other bits, too, where weights require no gradients"


def row(line, form, result):
    runs, cuts = result["runs"], result["cuts"]
    plain = found(runs, stages=1, optimize="none", processes=False)
    optimized = found(runs, stages=1, optimize="layer", processes=False)
    cells = [line["name"], FORMS[form], against_eager(plain), over_cuts(runs, plain), with_kill(runs, plain)]
    cells += [between_operators(cuts), against_eager(optimized), over_cuts(runs, optimized), alone(cuts)]
    return cells + ["; ".join(reasons(line, form, result, plain, optimized))]


def failure_of(line, form):
    return line.get("failed") or line[form].get("failed", "")


def not_exported(line, form):
    failed = failure_of(line, form)
    return [line["name"], FORMS[form], *["–"] * 7, "not exported: " + failed[:160].replace("|", "/")]


def says_nothing(result):
    """Whether Troupe says of the optimized model that a sample's bits depend on nothing but the sample."""
    return found(result["runs"], stages=1, optimize="layer", processes=False).get("bits_depend_on") == "nothing"


def summary(rows, models, unscriptable, promised):
    ran = [cells for cells in rows if cells[2] != "–"]
    count = lambda column, text: sum(cells[column] == text for cells in ran)
    few = lambda column: sum("few layers" in cells[column] for cells in ran)
    far = sum(cells[6] not in ("fails", "eager") and float(cells[6]) > 1e-5 for cells in ran)
    alone = len(ran) - count(8, "–") - count(8, "fails")
    yield f"{models} models, {len(ran)} files. Models whose code has `*args` or `**kwargs`, {unscriptable} of them, have no"
    yield "script."
    yield ""
    yield f"- As they stand (`--optimize none`), {count(2, 'eager')} files have the bits of eager PyTorch, and"
    yield f"  {count(2, 'fails')} fail before the start."
    yield f"- With 1, 2 and 4 stages {count(3, 'equal')} give equal bits; {few(3)} have too few layers for 4."
    yield f"- With 3 processes of which one is killed, {count(4, 'equal')} give the bits of one stage; {few(4)} have too few"
    yield "  layers."
    yield f"- Optimized, {len(ran) - count(6, 'fails')} run, {count(7, 'equal')} with equal bits over 1, 2 and 4 stages; {few(7)} have too"
    yield f"  few layers for 4. {far} of them is further than 1e-5 from eager PyTorch."
    yield f"- Optimized, {count(8, 'equal')} of {alone} give each sample alone the bits that it has in a batch of 2 or 3. Troupe"
    yield f"  says of {len(promised)} files that a sample's bits depend on nothing else; {promised.count('differ')} of these differ."
    yield ""


def main(folder, programs, names):
    log = {line["name"]: line for line in map(json.loads, open(f"{folder}/log.jsonl"))}
    path = f"{folder}/results.jsonl"
    results = {}
    if os.path.exists(path):
        results = {line["name"]: line["forms"] for line in map(json.loads, open(path))}
    with open(path, "a") as kept:
        for name in [] if programs == "-" else names or [name for name in log if name not in results]:
            results[name] = results_of(programs, folder, name)
            print(json.dumps({"name": name, "forms": results[name]}), file=kept, flush=True)
    rows, promised, unscriptable = [], [], 0
    for name, forms in ((name, results[name]) for name in log if name in results):
        for form in FORMS:
            if form in forms:
                rows.append(row(log[name], form, forms[form]))
                promised += [rows[-1][8]] if says_nothing(forms[form]) else []
            elif "variable number of arguments" in failure_of(log[name], form):
                unscriptable += 1
            elif failure_of(log[name], form):
                rows.append(not_exported(log[name], form))
    print("\n".join(summary(rows, len(results), unscriptable, promised)))
    print("| " + " | ".join(HEADS) + " |\n|" + "---|" * len(HEADS))
    for cells in rows:
        print("| " + " | ".join(cells) + " |")


main(sys.argv[1], sys.argv[2], sys.argv[3:])
