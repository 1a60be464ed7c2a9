"""The files of the working tree that differ from the commit before; with TROUPE_BASE set, from that commit."""
import os
import subprocess


def git(*arguments):
    return subprocess.run(["git", *arguments], capture_output=True, text=True, check=False).stdout.split()


def base():
    """The commit to compare with; nothing in a clone that has one commit alone."""
    if os.environ.get("TROUPE_BASE"):
        return [os.environ["TROUPE_BASE"]]
    return git("rev-parse", "--verify", "--quiet", "HEAD~1")


def changed_lines(*patterns):
    """The changed files that still exist, each with its number of changed lines; 0 for a new one that git does not know."""
    counted = {}
    numbers = git("diff", "--numstat", "--no-renames", "--diff-filter=d", *base(), "--", *patterns) if base() else []
    for added, removed, file in zip(*[iter(numbers)] * 3):
        counted[file] = int(added) + int(removed)
    return counted | dict.fromkeys(git("ls-files", "--others", "--exclude-standard", *patterns), 0)
