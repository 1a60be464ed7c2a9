"""What lint and tests have seen to be good, by content: shared by all clones of a user, as what ccache keeps.

One text file per check in $TROUPE_CACHE_DIR (else $XDG_CACHE_HOME/troupe, else ~/.cache/troupe), a line per content. Tools and
libraries belong to the content: another version of one makes all of it new.
"""
import functools
import hashlib
import os
import shutil
import subprocess

KEPT = 20_000  # lines; the newest, when there are twice as many


def cache_dir():
    named = os.environ.get("TROUPE_CACHE_DIR")
    return named or os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "troupe")


def output_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout if shutil.which(command[0]) else ""


@functools.cache
def installed():
    """Versions of the packages that have headers."""
    return output_of("dpkg-query", "-W", "*-dev")


class Memory:
    """Of one check with one tool: `tool` is its name, `flags` all that decides about it beside the content."""

    def __init__(self, check, tool, flags):
        self.path = os.path.join(cache_dir(), f"{check}.txt")
        self.conditions = "\0".join([output_of(tool, "--version"), installed(), *flags])
        self.passed = dict.fromkeys(self.lines())

    def lines(self):
        if not os.path.exists(self.path):
            return []
        with open(self.path, encoding="utf-8") as file:
            return file.read().split()

    def key(self, name, content):
        return hashlib.sha256("\0".join([self.conditions, name, content]).encode()).hexdigest()

    def remember(self, key):
        """At once, so that a run that is stopped loses nothing. Short lines are appended whole, also by two runs at a time."""
        if key in self.passed:
            return
        self.passed[key] = None
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(key + "\n")

    def forget_old(self):
        lines = self.lines()
        if len(lines) < 2 * KEPT:
            return
        partial = f"{self.path}.{os.getpid()}"
        with open(partial, "w", encoding="utf-8") as file:
            file.write("\n".join(lines[-KEPT:]) + "\n")
        os.replace(partial, self.path)
