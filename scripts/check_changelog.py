#!/usr/bin/env python3
"""CHANGELOG.md moves with what users see.

    scripts/check_changelog.py

Looks at the commits after the last one that changed CHANGELOG.md. None of them may change the public interface (include/ and
that of troupe::simulation), the command line (cli/, the table of options) or its page (docs/cli.md), the tables of metrics and
data kinds, the texts of errors or the names in results in more than includes, comments, white space and places. A commit that changes nothing that users see says so with a line "Changelog: none" in its message. A shallow
clone shows what it has: its oldest commit counts as one that changed CHANGELOG.md.
"""
import subprocess
import sys

SEEN_BY_USERS = ["include", "testing/simulation/include", "cli", "runtime/config/option_table.cpp", "docs/cli.md",
                 "runtime/metric/metric_table.hpp", "runtime/data/data_kinds.hpp", "runtime/report/json_report.cpp", "messages/explanations"]
# changes that are not seen: of includes, comments, white space
UNSEEN = ["-I^[[:space:]]*#[[:space:]]*(include|pragma)", "-I^[[:space:]]*//", "--ignore-blank-lines", "-w"]


def git(*arguments):
    return subprocess.run(["git", *arguments], capture_output=True, text=True, check=True).stdout


def changed_files(commit):
    """Files of `commit` whose change users may see."""
    patch = git("show", "--format=", "--unified=0", "-M", *UNSEEN, commit, "--", *SEEN_BY_USERS, ":(exclude)*CMakeLists.txt",
                ":(exclude)*_pch.hpp")
    files, file = [], ""
    for line in patch.splitlines():
        if line.startswith("diff --git "):
            file = line.split(" b/")[-1]
        elif line.startswith("@@") and file not in files:
            files.append(file)
    return files


def main():
    last = git("log", "-1", "--format=%H", "--", "CHANGELOG.md").strip()
    if not last:
        return 0
    failed = False
    for commit in git("rev-list", "--reverse", "--no-merges", f"{last}..HEAD").split():
        message = git("show", "-s", "--format=%B", commit)
        files = changed_files(commit)
        if not files or "\nChangelog: none\n" in message + "\n":
            continue
        failed = True
        subject = message.splitlines()[0]
        print(f"lint: {commit[:10]} ({subject}) changes {', '.join(files)}, and CHANGELOG.md has not changed since", file=sys.stderr)
    if failed:
        print("lint: add a line to CHANGELOG.md, or \"Changelog: none\" to the message of a commit that users do not see", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
