#!/usr/bin/env python3
"""Every header compiles alone, and twice in one file; so does every source of the benchmarks, which CI does not build.

    scripts/check_headers.py BUILD_DIR

clang reads each header in a file of its own. What a header includes, itself or through our headers, may come precompiled, and
nothing else: a header that uses another without including it has no precompiled header of it, and fails. Headers that passed
are remembered by the content of all that they include of the tree (memory.py). Of the others, those are read that a change
reaches (changes.py), and the third that has its turn (turns.py).
"""
import concurrent.futures
import functools
import hashlib
import heapq
import os
import re
import subprocess
import sys
import tempfile
import zlib

from changes import changed_lines
from memory import Memory
from turns import day

# Hundredths of a second that clang takes to read a header of a library, where it is much; another takes OTHER, one of ours OWN.
COSTS = {"torch/csrc/jit/ir/": 300, "torch/": 350, "ATen/Functions.h": 350, "ATen/TensorOperators.h": 320, "ATen/core/function.h": 200,
         "ATen/": 110, "c10/": 35, "caf/": 110, "asio/": 45, "CLI/": 90, "gtest/": 55, "gmock/": 60, "nlohmann/json.hpp": 90, "nlohmann/": 14, "fmt/": 20,
         "msgpack.hpp": 60, "future": 24, "filesystem": 19, "string": 18, "condition_variable": 14, "thread": 12, "memory": 12, "tl/expected.hpp": 12,
         "chrono": 11, "stop_token": 11, "functional": 10, "random": 10, "openssl/ssl.h": 6, "fstream": 6, "sstream": 5}
OTHER, OWN, START = 1, 1, 25
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)
FLAGS = ["-std=c++20", "-Wall", "-Wextra", "-Wno-unused-command-line-argument", "-Werror", "-DASIO_STANDALONE", "-DASIO_NO_DEPRECATED",
         "-DMSGPACK_NO_BOOST", '-DPROCESS_PROBE="a path that a test program is given"']


class Tree:
    """The headers of the tree and what they include."""

    def __init__(self):
        self.text = {}

    def read(self, path):
        if path not in self.text:
            with open(path, encoding="utf-8") as file:
                self.text[path] = file.read()
        return self.text[path]

    def closure(self, path):
        """The tree's files that `path` includes, with itself, and the names in all their includes of other libraries."""
        own, others, left = set(), set(), [path]
        while left:
            at = left.pop()
            if at in own:
                continue
            own.add(at)
            for quoted, angled in INCLUDE.findall(self.read(at)):
                public = "include/" + angled
                beside = os.path.normpath(os.path.join(os.path.dirname(at), quoted))
                if quoted:
                    left += [quoted] if os.path.exists(quoted) else [beside] if os.path.exists(beside) else []
                elif angled.startswith("troupe/") and os.path.exists(public):
                    left.append(public)
                elif angled:
                    others.add(angled)
        return own, others

    def content(self, own):
        return "".join(f"{path}\0{self.read(path)}\0" for path in sorted(own))


def torch_flags(build_dir):
    with open(os.path.join(build_dir, "CMakeCache.txt"), encoding="utf-8") as cache:
        root = re.search(r"^TROUPE_TORCH_ROOT:\w+=(.*)$", cache.read(), re.MULTILINE).group(1)
    include = os.path.join(root, "include")
    return ["-isystem", include, "-isystem", os.path.join(include, "torch/csrc/api/include")]


def compile_text(arguments, text):
    done = subprocess.run(["clang++", *arguments, "-"], input=text, capture_output=True, text=True, check=False)
    return done.returncode == 0, done.stderr


@functools.cache
def cost_of(name):
    """Names of ours have the folder that they are included from."""
    if name.startswith(("./", "include/")):
        return OWN
    return next((COSTS[known] for known in COSTS if name == known or known.endswith("/") and name.startswith(known)), OTHER)


def cost(names):
    """Headers of LibTorch include most of each other."""
    torch = [cost_of(name) for name in names if name.startswith(("torch/", "ATen/", "c10/"))]
    return sum(cost_of(name) for name in names if not name.startswith(("torch/", "ATen/", "c10/"))) + max(torch, default=0) + sum(torch) // 7


def precompiled_sets(includes):
    """For each file the set of headers to precompile, all of which it includes itself: what two files have in common, as long as
    that saves more than it takes."""
    numbers = {name: number for number, name in enumerate(sorted(set().union(*includes.values())))}
    masks = {file: sum(1 << numbers[name] for name in names) for file, names in includes.items()}
    ordered = sorted(masks.values())
    names_of = {one & other: None for place, one in enumerate(ordered) for other in ordered[: place + 1]}
    for mask in names_of:
        names_of[mask] = frozenset(name for name, number in numbers.items() if mask >> number & 1)
    costs = {mask: cost(names) for mask, names in names_of.items()} | {0: 0}
    chosen = dict.fromkeys(includes, 0)

    def saved(mask):
        gains = (costs[mask] - costs[chosen[file]] for file, own in masks.items() if mask & ~own == 0)
        return sum(gain for gain in gains if gain > 0) - costs[mask] * 3 // 2 - START

    # What a set saves only falls as others are chosen, so that the best is known once it is first again.
    waiting = [(-saved(mask), mask) for mask in names_of]
    heapq.heapify(waiting)
    while waiting:
        _, best = heapq.heappop(waiting)
        now = saved(best)
        if now <= 0:
            continue
        if waiting and now < -waiting[0][0]:
            heapq.heappush(waiting, (-now, best))
            continue
        for file, own in masks.items():
            if best & ~own == 0 and costs[best] > costs[chosen[file]]:
                chosen[file] = best
    return {file: names_of.get(mask, frozenset()) for file, mask in chosen.items()}


def include_of(name):
    return f'#include "{name.removeprefix("./")}"\n' if name.startswith("./") else f'#include <{name.removeprefix("include/")}>\n'


def precompile(folder, flags, names):
    """Nothing where it does not compile: the check of the header that is to blame says so."""
    if not names:
        return None
    path = os.path.join(folder, hashlib.sha256(" ".join(sorted(names)).encode()).hexdigest()[:16] + ".pch")
    text = "".join(include_of(name) for name in sorted(names))
    good, _ = compile_text([*flags, "-x", "c++-header", "-fpch-instantiate-templates", "-o", path], text)
    return path if good else None


def check(flags, header, pch):
    name = "<" + header.removeprefix("include/") + ">" if header.startswith("include/") else f'"{header}"'
    use = ["-include-pch", pch] if pch else []
    times = 2 if header.endswith(".hpp") else 1
    return compile_text([*flags, *use, "-fsyntax-only", "-x", "c++"], f"#include {name}\n" * times)


def has_turn(header):
    return day() is None or (zlib.crc32(header.encode()) + day()) % 3 == 0


def main():
    build_dir = sys.argv[1]
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.hpp", "bench/*.cpp"], capture_output=True, text=True,
                            check=True).stdout.split()
    headers = [h for h in listed if os.path.exists(h) and not h.endswith("_pch.hpp")]
    tree = Tree()
    flags = [*FLAGS, "-I.", "-Iinclude", *torch_flags(build_dir)]
    memory = Memory("lint-headers", "clang++", flags)
    includes, keys, left = {}, {}, 0
    changed = set(changed_lines("*.hpp", "*.cpp"))
    for header in headers:
        own, others = tree.closure(header)
        key = memory.key(header, tree.content(own))
        if key in memory.passed:
            continue
        if own.isdisjoint(changed) and not has_turn(header):
            left += 1
        else:
            keys[header] = key
            includes[header] = frozenset(others | {each if each.startswith("include/") else "./" + each for each in own - {header}})

    failed = 0
    os.makedirs(os.path.join(build_dir, "lint"), exist_ok=True)
    with tempfile.TemporaryDirectory(dir=os.path.join(build_dir, "lint")) as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        sets = precompiled_sets(includes) if includes else {}
        wanted = sorted(set(sets.values()), key=cost, reverse=True)
        pchs = dict(zip(wanted, pool.map(lambda names: precompile(folder, flags, names), wanted)))
        jobs = {pool.submit(check, flags, header, pchs[names]): header for header, names in sets.items()}
        for job in concurrent.futures.as_completed(jobs):
            good, said = job.result()
            if good:
                memory.remember(keys[jobs[job]])
            else:
                failed += 1
                print(f"{jobs[job]} does not compile alone:\n{said}", file=sys.stderr)
    memory.forget_old()
    print(f"lint: {len(jobs)} of {len(headers)} headers and benchmarks compiled alone, {failed} failed, {left} have another day's turn", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
