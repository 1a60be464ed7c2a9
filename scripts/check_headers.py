#!/usr/bin/env python3
"""Every header compiles alone, and twice in one file; so does every source of the benchmarks, which CI does not build.

    scripts/check_headers.py BUILD_DIR

clang reads each header in a file of its own. What a header includes of other libraries, itself or through our headers, may come
precompiled, and nothing else: a header that uses a library without including it has no precompiled header of it, and fails. Headers that passed are remembered in
BUILD_DIR/lint/headers.json, by the content of all that they include of the tree.
"""
import concurrent.futures
import functools
import hashlib
import json
import os
import re
import subprocess
import sys

# What reading a header of a library takes, in units of an average one of the standard library.
COSTS = {"torch/csrc/jit/api/": 60, "torch/": 60, "ATen/Functions.h": 60, "ATen/": 20, "c10/": 10, "caf/": 20, "asio": 15, "CLI/": 15, "gtest/": 15,
         "gmock/": 15, "nlohmann/json.hpp": 10, "fmt/": 6, "msgpack": 10, "openssl/": 3}
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)
FLAGS = ["-std=c++20", "-Wall", "-Wextra", "-Wno-unused-command-line-argument", "-Werror", "-DASIO_STANDALONE", "-DASIO_NO_DEPRECATED",
         "-DMSGPACK_NO_BOOST", '-DPROCESS_PROBE="a path that a test program is given"']


class Tree:
    """The headers of the tree and what they include."""

    def __init__(self, files):
        self.text = {}
        self.files = files
        self.closures = {}

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

    def key(self, own):
        content = hashlib.sha256(" ".join(FLAGS).encode())
        for path in sorted(own):
            content.update(path.encode() + b"\0" + self.read(path).encode() + b"\0")
        return content.hexdigest()


def torch_flags(build_dir):
    with open(os.path.join(build_dir, "CMakeCache.txt"), encoding="utf-8") as cache:
        root = re.search(r"^TROUPE_TORCH_ROOT:\w+=(.*)$", cache.read(), re.MULTILINE).group(1)
    include = os.path.join(root, "include")
    return ["-isystem", include, "-isystem", os.path.join(include, "torch/csrc/api/include")]


def compile_text(arguments, text):
    done = subprocess.run(["clang++", *arguments, "-"], input=text, capture_output=True, text=True, check=False)
    return done.returncode == 0, done.stderr


@functools.cache
def cost(names):
    return sum(next((COSTS[prefix] for prefix in COSTS if name.startswith(prefix)), 1) for name in names)


def precompiled_sets(includes):
    """For each header the set of libraries' headers to precompile: the most costly of a few sets of which it includes all."""
    chosen = {header: frozenset() for header in includes}
    candidates = set(includes.values())
    while candidates:
        def saved(candidate):
            return sum(max(0, cost(candidate) - cost(chosen[header])) for header, names in includes.items() if candidate <= names)

        best = max(sorted(candidates, key=sorted), key=saved)
        if saved(best) < 3 * cost(best) + 20:
            break
        candidates.remove(best)
        for header, names in includes.items():
            if best <= names and cost(best) > cost(chosen[header]):
                chosen[header] = best
    return chosen


def precompile(folder, flags, names):
    if not names:
        return None
    text = "".join(f"#include <{name}>\n" for name in sorted(names))
    path = os.path.join(folder, hashlib.sha256((text + " ".join(flags)).encode()).hexdigest()[:16] + ".pch")
    if not os.path.exists(path):
        partial = path + f".{os.getpid()}"
        good, said = compile_text([*flags, "-x", "c++-header", "-fpch-instantiate-templates", "-o", partial], text)
        if not good:
            raise SystemExit(f"cannot precompile {sorted(names)}:\n{said}")
        os.rename(partial, path)
    return path


def check(flags, header, pch):
    name = "<" + header.removeprefix("include/") + ">" if header.startswith("include/") else f'"{header}"'
    use = ["-include-pch", pch] if pch else []
    times = 2 if header.endswith(".hpp") else 1
    return compile_text([*flags, *use, "-fsyntax-only", "-x", "c++"], f"#include {name}\n" * times)


def save(path, stamps):
    """All at once, so that a run that is stopped leaves the headers that had passed."""
    with open(path + ".partial", "w", encoding="utf-8") as file:
        json.dump(stamps, file, indent=0)
    os.replace(path + ".partial", path)


def main():
    build_dir = sys.argv[1]
    folder = os.path.join(build_dir, "lint")
    os.makedirs(folder, exist_ok=True)
    stamps_path = os.path.join(folder, "headers.json")
    stamps = {}
    if os.path.exists(stamps_path):
        with open(stamps_path, encoding="utf-8") as file:
            stamps = json.load(file)

    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.hpp", "bench/*.cpp"], capture_output=True, text=True,
                            check=True).stdout.split()
    headers = [h for h in listed if os.path.exists(h) and not h.endswith("_pch.hpp")]
    tree = Tree(headers)
    flags = [*FLAGS, "-I.", "-Iinclude", *torch_flags(build_dir)]
    includes, work, keys = {}, [], {}
    for header in headers:
        own, others = tree.closure(header)
        keys[header] = tree.key(own)
        includes[header] = frozenset(others)
        if stamps.get(header) != keys[header]:
            work.append(header)

    failed = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        chosen = precompiled_sets(includes)
        sets = {header: chosen[header] for header in work}
        wanted = sorted(set(sets.values()), key=cost, reverse=True)
        pchs = dict(zip(wanted, pool.map(lambda names: precompile(folder, flags, names), wanted)))
        jobs = {pool.submit(check, flags, header, pchs[names]): header for header, names in sets.items()}
        for count, job in enumerate(concurrent.futures.as_completed(jobs)):
            good, said = job.result()
            if good:
                stamps[jobs[job]] = keys[jobs[job]]
            else:
                failed.append(jobs[job])
                print(f"{jobs[job]} does not compile alone:\n{said}", file=sys.stderr)
            if count % 20 == 0:
                save(stamps_path, stamps)
    save(stamps_path, {header: stamps[header] for header in headers if header in stamps})
    print(f"lint: {len(jobs)} of {len(headers)} headers and benchmarks compiled alone, {len(failed)} failed", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
