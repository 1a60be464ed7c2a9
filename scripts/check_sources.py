#!/usr/bin/env python3
"""clang-tidy and g++ read the sources that changed, and the headers that changed compile alone.

    scripts/check_sources.py BUILD_DIR [--all]

Changed is what differs from the commit TROUPE_BASE, or else from where the branch left its upstream, or else from the commit before
HEAD. A changed header is also read through a source: the one of its name, or else one that includes it. The headers that include
a changed one compile alone as well. After 100 s nothing further is begun, and what was left out is named. With --all, as `make
tidy` has it, everything is read, without a limit.

BUILD_DIR is configured with the preset lint, which compiles every source by itself and with no precompiled header.
"""
import concurrent.futures
import json
import os
import re
import shlex
import subprocess
import sys
import time

SECONDS = 100
# What g++ 12 sees wrongly (cmake/TroupeBuild.cmake). clang compiles the program, and users may take g++.
GCC_FALSE_ALARMS = ["-Wno-maybe-uninitialized", "-Wno-restrict", "-Wno-stringop-overflow", "-Wno-array-bounds"]
SOURCES = ("messages/", "runtime/", "program/", "actors/", "cli/", "testing/", "examples/", "bench/")
HEADER_FLAGS = ["-std=c++20", "-Wall", "-Wextra", "-Werror", "-DASIO_STANDALONE", "-DASIO_NO_DEPRECATED", "-DMSGPACK_NO_BOOST",
                '-DPROCESS_PROBE="a path that a test program is given"', "-I.", "-Iinclude"]


def output_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def git(*arguments):
    return output_of("git", *arguments).split()


def base():
    """Nothing in a clone that has one commit alone."""
    if os.environ.get("TROUPE_BASE"):
        return [os.environ["TROUPE_BASE"]]
    left = git("merge-base", "HEAD", "@{upstream}")
    return left if left not in ([], git("rev-parse", "HEAD")) else git("rev-parse", "--verify", "--quiet", "HEAD~1")


def include_lines(header):
    return ["-e", f'#include "{header}"', "-e", f"#include <{header.removeprefix('include/')}>"]


def users_of(header, pattern):
    return git("grep", "-l", "-F", *include_lines(header), "--", pattern)


def chosen(sources, headers):
    """The sources for clang-tidy and g++, and the headers to compile alone, those that changed first."""
    if "--all" in sys.argv:
        return sources, headers
    changed = git("diff", "--name-only", "--diff-filter=d", *base()) if base() else []
    changed += git("ls-files", "--others", "--exclude-standard")
    changed_headers = [file for file in headers if file in changed]
    read = [file for file in sources if file in changed]
    for header in changed_headers:
        own = header.removesuffix(".hpp") + ".cpp"
        read += [own] if own in sources else [file for file in users_of(header, "*.cpp") if file in sources][:1]
    alone = changed_headers + [user for header in changed_headers for user in users_of(header, "*.hpp") if user in headers]
    return list(dict.fromkeys(read)), list(dict.fromkeys(alone))


def run(command, folder=".", text=None):
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, input=text)
    return "" if done.returncode == 0 else done.stdout + done.stderr or "it failed"


def read_source(build_dir, source, command):
    """What clang-tidy or g++ says of it."""
    said = "" if source.startswith("bench/") else run(["clang-tidy", "--quiet", "-p", build_dir, source])
    arguments = [each for each in shlex.split(command)[1:] if each not in ("-c", "-o") and not each.endswith(".o")]
    return said or run(["g++", *GCC_FALSE_ALARMS, *arguments, "-fsyntax-only"], build_dir)


def read_header(flags, header):
    """Twice in one file, so that a missing `#pragma once` is seen."""
    text = f'#include "{header.removeprefix("include/")}"\n' * 2
    said = run(["clang++", *flags, "-fsyntax-only", "-x", "c++", "-"], text=text)
    return said and f"{header} does not compile alone:\n{said}"


def main():
    build_dir = sys.argv[1]
    with open(os.path.join(build_dir, "CMakeCache.txt"), encoding="utf-8") as cache:
        torch = re.search(r"^TROUPE_TORCH_ROOT:\w+=(.*)$", cache.read(), re.MULTILINE).group(1) + "/include"
    flags = [*HEADER_FLAGS, "-isystem", torch, "-isystem", torch + "/torch/csrc/api/include"]
    with open(os.path.join(build_dir, "compile_commands.json"), encoding="utf-8") as file:
        commands = {os.path.relpath(each["file"]): each["command"] for each in json.load(file)}
    sources = [file for file in commands if file.startswith(SOURCES)]
    headers = [file for file in git("ls-files", "--cached", "--others", "--exclude-standard", "*.hpp")
               if os.path.exists(file) and not file.endswith("_pch.hpp")]
    read, alone = chosen(sources, headers)

    deadline = time.monotonic() + (float("inf") if "--all" in sys.argv else SECONDS)
    left, failed = [], 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        def look(file, check, *arguments):
            return check(*arguments) if time.monotonic() < deadline else left.append(file)
        jobs = [pool.submit(look, source, read_source, build_dir, source, commands[source]) for source in read]
        jobs += [pool.submit(look, header, read_header, flags, header) for header in alone]
        for job in concurrent.futures.as_completed(jobs):
            if job.result():
                failed += 1
                print(job.result(), file=sys.stderr)
    print(f"lint: of {len(read)} sources and {len(alone)} headers {failed} failed and {len(left)} were left out", file=sys.stderr)
    if left:
        print(f"lint: no time was left for {' '.join(left)}; `make tidy` looks at all", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
