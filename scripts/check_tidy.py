#!/usr/bin/env python3
"""clang-tidy and g++ over the files that changed. clang compiles the program (CMakePresets.json); users may take g++.

    scripts/check_tidy.py BUILD_DIR [--all]

Changed are the files of changes.py. A changed header is looked at through the source of its name, or else through one that
includes it. Files that passed are remembered by the content of what they include of the tree (memory.py). After 100 s no
further source is begun, those with the most changed lines come first, and the others are named: the next run of CI on this
machine looks at them.
"""
import concurrent.futures
import json
import os
import re
import shlex
import subprocess
import sys
import time

from changes import changed_lines, git, left_out_file
from check_headers import Tree, torch_flags
from memory import Memory, output_of

SECONDS = 100  # for starting: each source takes 3 to 20 s
GCC_FALSE_ALARMS = ["-Wno-maybe-uninitialized", "-Wno-restrict", "-Wno-stringop-overflow", "-Wno-array-bounds"]  # TroupeBuild.cmake
CHECKED = ("messages/", "runtime/", "program/", "actors/", "cli/", "testing/", "examples/")


def sources():
    return [file for file in git("ls-files", "*.cpp") if file.startswith(CHECKED) and os.path.exists(file)]


def source_for(header, every_source):
    """The source through which `header` is seen."""
    own = header.removesuffix(".hpp") + ".cpp"
    if own in every_source:
        return own
    public = header.removeprefix("include/")
    users = git("grep", "-l", "-F", "-e", f'#include "{header}"', "-e", f"#include <{public}>", "--", "*.cpp")
    return next((user for user in users if user in every_source), None)


def changed_sources():
    changed = changed_lines("*.cpp", "*.hpp")
    every_source = sources()
    found = [file for file in changed if file in every_source]
    found += [source_for(file, every_source) for file in changed if file.endswith(".hpp") and file.startswith((*CHECKED, "include/"))]
    return sorted({file for file in found if file}, key=lambda file: -changed.get(file, 0))


def separate_sources(entry):
    """The sources that a file of a unity build includes, each with that file's command."""
    if "/Unity/" not in entry["file"]:
        return [entry]
    with open(entry["file"], encoding="utf-8") as file:
        included = re.findall(r'^#include "(.+)"', file.read(), re.MULTILINE)
    return [entry | {"file": source, "command": entry["command"].replace(entry["file"], source)} for source in included]


def plain_commands(build_dir, folder):
    """Leaves in `folder` the build's commands for clang-tidy, and returns those for g++, by source: neither has a launcher or a
    precompiled header."""
    with open(os.path.join(build_dir, "compile_commands.json"), encoding="utf-8") as file:
        commands = [one for each in json.load(file) for one in separate_sources(each)]
    for_gcc = {}
    for each in commands:
        command = re.sub(r"^.*?(?=\S*\+\+ )", "", each["command"])
        command = re.sub(r" -Xclang \S+| -include \S+\.hxx| -f(pch|macro-prefix)\S+| --param=\S+| -Winvalid-pch", "", command)
        arguments = shlex.split(command)
        for_gcc[os.path.relpath(each["file"])] = ["g++", *GCC_FALSE_ALARMS, *arguments[1:], "-fsyntax-only"]
        each["command"] = re.sub(r" -W\S+(?= )", "", command)
    with open(os.path.join(folder, "compile_commands.json"), "w", encoding="utf-8") as file:
        json.dump(commands, file)
    return for_gcc


def look_at(folder, source, gcc_command, deadline):
    """Whether both found nothing, and what they said; None: no time was left."""
    if time.monotonic() > deadline:
        return None, ""
    done = subprocess.run(["clang-tidy", "--quiet", "-p", folder, source], capture_output=True, text=True, check=False)
    if done.returncode != 0 or gcc_command is None:
        return done.returncode == 0, done.stdout or done.stderr
    done = subprocess.run(gcc_command, capture_output=True, text=True, check=False, cwd=folder)
    return done.returncode == 0, done.stderr


def main():
    build_dir = sys.argv[1]
    folder = os.path.join(build_dir, "lint")
    os.makedirs(folder, exist_ok=True)
    for_gcc = plain_commands(build_dir, folder)
    tree = Tree()
    memory = Memory("lint-tidy", "clang-tidy", [tree.read(".clang-tidy"), *torch_flags(build_dir), output_of("g++", "--version")])
    wanted = sources() if "--all" in sys.argv else changed_sources()
    keys = {source: memory.key(source, tree.content(tree.closure(source)[0])) for source in wanted}
    work = [source for source in wanted if keys[source] not in memory.passed]
    failed, unseen = 0, []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        deadline = time.monotonic() + (SECONDS if "--all" not in sys.argv else float("inf"))
        jobs = {pool.submit(look_at, folder, source, for_gcc.get(source), deadline): source for source in work}
        for job in concurrent.futures.as_completed(jobs):
            good, said = job.result()
            if good is None:
                unseen.append(jobs[job])
            elif good:
                memory.remember(keys[jobs[job]])
            else:
                failed += 1
                print(said, file=sys.stderr)
    memory.forget_old()
    print(f"lint: clang-tidy and g++ looked at {len(work) - len(unseen)} of {len(wanted)} changed sources, {failed} failed", file=sys.stderr)
    if os.path.exists(left_out_file(build_dir)):
        os.remove(left_out_file(build_dir))
    if unseen:
        with open(left_out_file(build_dir), "w", encoding="utf-8") as file:
            file.write("\n".join(unseen) + "\n")
        print(f"lint: no time was left for {len(unseen)}: {' '.join(unseen)}; `make tidy` looks at all", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
