#!/usr/bin/env python3
"""Runs the tests of a configuration through ctest, and remembers which programs passed.

    scripts/run_tests.py PRESET [-j JOBS] [--changed | --remembered]

Tests that start many processes have their turns: those labelled "turns_even" run in release on even days and with
AddressSanitizer on odd days, "turns_odd" the other way round. TROUPE_TURN is the number of the day that counts (since 1970), or
"all": every test runs.

A test's programs are the one that ctest starts and those that it starts in turn. With --changed only those tests run of
which a program's content is another than when the test passed last, and those that read the tree itself (label "tree").
Tests labelled "slow" are named, but left to a run without --changed. BUILD_DIR/passed.json keeps the contents that passed.

With --remembered those tests do not run again that have passed in any build folder of this user (memory.py) with the same content of
their programs, of all that the tree has beside sources, of LibTorch, and with the same packages, variables and turn. Tests labelled
"tree" or "fresh" (they draw new cases each time), and those whose program is not built here, always run.
"""
import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

from memory import Memory, cache_dir
from turns import day


def property_of(test, name):
    return next((p["value"] for p in test.get("properties", []) if p["name"] == name), None)


def listed_tests(preset):
    listed = subprocess.run(["ctest", "--preset", preset, "--show-only=json-v1"], capture_output=True, text=True, check=True)
    return json.loads(listed.stdout)["tests"]


def programs_of(test):
    """Of `cmake -D PROGRAM=... -P script` the program, and the files that the test names as required."""
    command = test.get("command", [])
    named = [argument.removeprefix("PROGRAM=") for argument in command if argument.startswith("PROGRAM=")]
    return (named or command[:1]) + (property_of(test, "REQUIRED_FILES") or [])


class Contents:
    def __init__(self):
        self.hash_of = {}

    def of_file(self, path):
        if path not in self.hash_of:
            with open(path, "rb") as file:
                self.hash_of[path] = hashlib.file_digest(file, "blake2b").hexdigest()[:32]
        return self.hash_of[path]

    def of_test(self, test):
        return "+".join(self.of_file(path) for path in programs_of(test) if os.path.isfile(path))


def passed_in(junit_path):
    if not os.path.exists(junit_path):
        return set()
    cases = ElementTree.parse(junit_path).getroot().iter("testcase")
    return {case.get("name") for case in cases if case.get("status") == "run"}


def chosen(tests, contents, passed):
    """The tests to run, and those that should be run but take long."""
    labels = {test["name"]: property_of(test, "LABELS") or [] for test in tests}
    stale = [test["name"] for test in tests
             if "tree" in labels[test["name"]] or passed.get(test["name"]) != contents[test["name"]]]
    return [name for name in stale if "slow" not in labels[name]], [name for name in stale if "slow" in labels[name]]


def waiting_for_their_turn(tests, preset):
    """The tests that this configuration leaves to the other one today."""
    if day() is None:
        return []
    is_first = (preset != "asan") == (day() % 2 == 0)
    return [test["name"] for test in tests if ("turns_odd" if is_first else "turns_even") in (property_of(test, "LABELS") or [])]


def tree_beside_sources(hasher):
    """Data, scripts, pages, build files: tests read some of them."""
    tracked = subprocess.run(["git", "ls-files", "-z"], capture_output=True, text=True, check=True).stdout.split("\0")
    files = [name for name in tracked if os.path.isfile(name) and not name.endswith((".cpp", ".hpp"))]
    return [name + "=" + hasher.of_file(name) for name in files]


def memory_of(preset, hasher):
    variables = [f"{name}={value}" for name, value in sorted(os.environ.items()) if name.startswith(("TROUPE_", "OMP_", "MKL_"))]
    stamps = [name for name in (os.path.join(cache_dir(), d, ".stamp") for d in sorted(os.listdir(cache_dir()))) if os.path.isfile(name)]
    return Memory("tests-" + preset, "ctest",
                  tree_beside_sources(hasher) + variables + [hasher.of_file(name) for name in stamps] + [str(day()), str(os.cpu_count())])


def may_be_remembered(test, build_dir):
    labels = property_of(test, "LABELS") or []
    return programs_of(test)[0].startswith(build_dir + os.sep) and not {"tree", "fresh"} & set(labels)


def pattern_of(names):
    return "^(" + "|".join(re.escape(name) for name in names) + ")$"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("preset")
    parser.add_argument("-j", dest="jobs", default=str(os.cpu_count()))
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--changed", action="store_true")
    kind.add_argument("--remembered", action="store_true")
    arguments = parser.parse_args()

    build_dir = os.path.abspath(os.path.join("build", arguments.preset))
    stamp_path = os.path.join(build_dir, "passed.json")
    junit_path = os.path.join(build_dir, "junit.xml")
    passed = {}
    if os.path.exists(stamp_path):
        with open(stamp_path, encoding="utf-8") as file:
            passed = json.load(file)
    hasher = Contents()
    tests = listed_tests(arguments.preset)
    contents = {test["name"]: hasher.of_test(test) for test in tests}

    memory = memory_of(arguments.preset, hasher) if arguments.remembered else None
    keys = {test["name"]: memory.key(test["name"], contents[test["name"]]) for test in tests
            if may_be_remembered(test, build_dir)} if memory else {}

    command = ["ctest", "--preset", arguments.preset, "-j", arguments.jobs, "--output-junit", junit_path]
    left = []
    if arguments.changed:
        run, left = chosen(tests, contents, passed)
        print(f"tests: {len(run)} of {len(tests)} to run", file=sys.stderr, flush=True)
        command += ["-R", pattern_of(run)]
    else:
        waiting = waiting_for_their_turn(tests, arguments.preset)
        known = [name for name, key in keys.items() if key in memory.passed and name not in waiting]
        if waiting:
            print(f"tests: {len(waiting)} of {len(tests)} have their turn in the other configuration today (TROUPE_TURN=all runs all)",
                  file=sys.stderr, flush=True)
        if known:
            print(f"tests: {len(known)} of {len(tests)} passed before with the same content: {' '.join(known)}", file=sys.stderr, flush=True)
        if waiting or known:
            command += ["-E", pattern_of(waiting + known)]
    if os.path.exists(junit_path):
        os.remove(junit_path)
    status = 0 if arguments.changed and not run else subprocess.run(command, check=False).returncode
    for name in passed_in(junit_path):
        if name in keys:
            memory.remember(keys[name])
    if memory:
        memory.forget_old()
    passed.update({name: contents[name] for name in passed_in(junit_path) if name in contents})
    with open(stamp_path, "w", encoding="utf-8") as file:
        json.dump(passed, file, indent=0)
    if left:
        print(f"left to `make test`, because they take long: {' '.join(left)}", file=sys.stderr)
    return status


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
