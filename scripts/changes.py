#!/usr/bin/env python3
"""The files of the working tree that differ from the last commit that CI passed on this machine, where HEAD descends from it, else
from the commit before; with TROUPE_BASE set, from that commit.

    scripts/changes.py BUILD_DIR      keeps HEAD as the commit that passed, unless clang-tidy left sources out
"""
import os
import subprocess
import sys

from memory import cache_dir

PASSED = os.path.join(cache_dir(), "ci-passed.txt")


def git(*arguments):
    return subprocess.run(["git", *arguments], capture_output=True, text=True, check=False).stdout.split()


def passed_commit():
    """Nothing where none is known, or where HEAD does not descend from it."""
    if not os.path.exists(PASSED):
        return []
    with open(PASSED, encoding="utf-8") as file:
        commit = file.read().strip()
    return [commit] if git("merge-base", commit, "HEAD") == [commit] != git("rev-parse", "HEAD") else []


def base():
    """The commit to compare with; nothing in a clone that has one commit alone."""
    if os.environ.get("TROUPE_BASE"):
        return [os.environ["TROUPE_BASE"]]
    return passed_commit() or git("rev-parse", "--verify", "--quiet", "HEAD~1")


def changed_lines(*patterns):
    """The changed files that still exist, each with its number of changed lines; 0 for a new one that git does not know."""
    counted = {}
    numbers = git("diff", "--numstat", "--no-renames", "--diff-filter=d", *base(), "--", *patterns) if base() else []
    for added, removed, file in zip(*[iter(numbers)] * 3):
        counted[file] = int(added) + int(removed)
    return counted | dict.fromkeys(git("ls-files", "--others", "--exclude-standard", *patterns), 0)


def left_out_file(build_dir):
    """Where clang-tidy names the sources that it had no time for."""
    return os.path.join(build_dir, "lint", "left_out.txt")


def main():
    if os.path.exists(left_out_file(sys.argv[1])) or git("status", "--porcelain"):
        return
    os.makedirs(cache_dir(), exist_ok=True)
    with open(PASSED, "w", encoding="utf-8") as file:
        file.write(git("rev-parse", "HEAD")[0] + "\n")


if __name__ == "__main__":
    main()
