"""Runs every file that make_zoo.py made through Troupe and prints a table in Markdown.

Usage: python zoo_table.py FOLDER ZOO_RUN [NAME ...]

ZOO_RUN is the program of zoo_run.cpp. FOLDER/results.jsonl keeps what it printed; models that are named, or all, are run
again. Each file runs with 1, 2 and 4 stages as it stands and optimized, and with 3 stages in processes, one of which
is killed. "eager" means: the bits of PyTorch. Where they differ, the table has the largest difference over the largest
magnitude.
"""

import json
import os
import subprocess
import sys

FORMS = {"traced.pt": "traced", "scripted.pt": "scripted", "exported.pt2": "`.pt2`"}
TIME_LIMIT_SECONDS = 300


def runs_of(program, model, data, *more):
    """What the program printed: a line per run, and why it ended where it ended early."""
    command = [program, model, data, *more]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIME_LIMIT_SECONDS)
    except subprocess.TimeoutExpired as slow:
        lines = (slow.stdout or b"").decode().splitlines()
        return [json.loads(line) for line in lines] + [{"error": f"no end after {TIME_LIMIT_SECONDS} s"}]
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or [""])[:2]
        lines.append({"error": f"ended with status {done.returncode}: {' '.join(last)}"})
    return lines


def results_of(program, folder, name):
    """The runs of all forms of one model."""
    forms = {}
    for form in FORMS:
        model = f"{folder}/{name}/{form}"
        if os.path.exists(model):
            data = f"{folder}/{name}/data.pt"
            forms[form] = runs_of(program, model, data) + runs_of(program, model, data, "--processes")
    return forms


def found(runs, **wanted):
    matching = [run for run in runs if all(run.get(key) == value for key, value in wanted.items())]
    return matching[0] if matching else {"error": "did not run"}


def short(error):
    """The error without the path, which the row names, and without the fix."""
    text = error.splitlines()[0].removeprefix("error ")
    code, _, rest = text.partition(": ")
    if rest.startswith("/"):
        rest = rest.partition(": ")[2] or rest
    return f"{code}: {rest}"[:200].replace("|", "/")


def against_eager(run):
    if "error" in run:
        return "fails"
    return "eager" if run["differing"] == 0 else f"{run['relative']:.1e}"


def over_cuts(runs, first):
    """Whether 2 and 4 stages gave the bits of one."""
    words = []
    for stages in (2, 4):
        run = found(runs, stages=stages, optimize=first["optimize"], processes=False)
        if "error" in run:
            words.append(f"{stages}: fails")
        elif run["hash"] != first.get("hash"):
            words.append(f"{stages}: {run['relative']:.1e}")
    return "equal" if not words else ", ".join(words)


def with_kill(runs, first):
    run = found(runs, processes=True)
    if "error" in run:
        return "fails"
    if run.get("kills") != 1 or run["lost"] != 0:
        return f"{run.get('kills')} kills, {run['lost']} lost"
    return "equal" if run["hash"] == first.get("hash") else f"{run['relative']:.1e}"


def first_error(runs):
    return next((short(run["error"]) for run in runs if "error" in run), "")


def row(name, form, runs):
    plain = {"optimize": "none", **found(runs, stages=1, optimize="none", processes=False)}
    optimized = {"optimize": "layer", **found(runs, stages=1, optimize="layer", processes=False)}
    cells = [name, FORMS[form], against_eager(plain), over_cuts(runs, plain), with_kill(runs, plain)]
    cells += [against_eager(optimized), over_cuts(runs, optimized), first_error(runs)]
    return cells


def not_exported(line, form):
    reason = line.get(form, {}).get("failed", line.get("failed", ""))
    return [line["name"], FORMS[form], *["not exported"] * 5, reason[:200].replace("|", "/")]


def summary(rows, models):
    ran = [cells for cells in rows if cells[2] != "not exported"]
    relative = [cells for cells in ran if cells[5] not in ("fails", "eager")]
    yield f"{models} models, {len(rows)} rows, of which {len(ran)} were exported. Of these:"
    yield f"- {sum(cells[2] == 'eager' for cells in ran)} have the bits of eager PyTorch at `--optimize none`, "
    yield f"  {sum(cells[2] == 'fails' for cells in ran)} fail;"
    yield f"- {sum(cells[3] == 'equal' for cells in ran)} give equal bits with 1, 2 and 4 stages,"
    yield f"  {sum(cells[4] == 'equal' for cells in ran)} with 3 processes of which one is killed;"
    yield f"- optimized, {sum(cells[5] != 'fails' for cells in ran)} run, {sum(cells[6] == 'equal' for cells in ran)} with"
    yield f"  equal bits over cuts; {sum(float(cells[5]) > 1e-5 for cells in relative)} differ by more than 1e-5."


def main(folder, program, names):
    log = {line["name"]: line for line in map(json.loads, open(f"{folder}/log.jsonl"))}
    path = f"{folder}/results.jsonl"
    results = {}
    if os.path.exists(path):
        results = {line["name"]: line["forms"] for line in map(json.loads, open(path))}
    with open(path, "a") as kept:
        for name in names or log:
            results[name] = results_of(program, folder, name)
            print(json.dumps({"name": name, "forms": results[name]}), file=kept, flush=True)
    rows = []
    for name, line in log.items():
        for form in FORMS:
            if form in results.get(name, {}):
                rows.append(row(name, form, results[name][form]))
            elif "failed" in line or "failed" in line[form]:
                rows.append(not_exported(line, form))
    print("\n".join(summary(rows, len(log))), "\n")
    print("| model | form | 1 stage | 2 and 4 stages | 3 processes, a kill | optimized | 2 and 4 stages | reason |")
    print("|---|---|---|---|---|---|---|---|")
    for cells in rows:
        print("| " + " | ".join(cells) + " |")


main(sys.argv[1], sys.argv[2], sys.argv[3:])
