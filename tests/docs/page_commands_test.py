#!/usr/bin/env python3
"""Goal: what pages tell their readers to type works, and prints what the pages show.
Method: the ```console blocks of each page are run in order, in a scratch copy of the tree, and their output is compared.
Then the commands in the tables are run, `troupe ...` alone in a cell: each has to succeed.

    page_commands_test.py SOURCE_DIR BUILD_DIR SCRATCH_DIR PAGE...

In a block, a line that begins with a prompt is a command: `$ `, or `1$ ` and `2$ ` for two terminals. A command of `1$`
is left running; the next block without a prompt has its output. Marks before a block:

    <!-- file: NAME -->              the block is the content of this file
    <!-- not run: REASON -->         the block is left out
    <!-- when 1$ shows: PATTERN -->  its commands begin then
    <!-- may differ: PATTERN -->     of what is shown here and printed, this is not compared
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading

PATIENCE = 300  # seconds; against hanging, no command takes so long
MARK = "\x01"
IN_TABLE = re.compile(r"^\|.*\| `(troupe [^`|]*)` \|")
PROMPT = re.compile(r"^(1|2|)\$ (.*)$")
MARKS = re.compile(r"^<!-- (file|not run|when 1\$ shows|may differ): (.*) -->$")
# What differs from run to run; both sides lose it. The pages say so.
VARYING = [
    (r"\d+(\.\d+)? (s|ms|%|samples/s)(?= |,|$)", r"N \2"),
    (r"(process|rank) \d+", r"\1 N"),
    (r"[1-9]\d* ((micro-batches )?sent again|replayed|of them from the journal)", r"N \1"),
    (r"^(balance +)[\d.]+", r"\1N"),
    (r"^((?:stage|net) \d+|thicken) +(\d+) +N % +N s +\d+", r"\1 \2 N % N s N"),  # a row of the table of stages
    (r"^([a-z_]+:\S+ +\d+ +N s) .*", r"\1"),  # a row of the table of faults
    (r"█+", "█"),
    (r"^.*\bKilled\b.*$", "Killed"),
]
PROGRESS = re.compile(r"^( +\| )?\d+/\d+ (samples|steps) ")
LOG = re.compile(r"^( +\| )?(warning: |\[)")


class Shell:
    """A bash with a terminal's state. What it and its commands print is read as it comes."""

    def __init__(self, folder, environment):
        self.text = ""
        self.news = threading.Condition()  # of the text, and of its end
        self.is_over = False
        self.process = subprocess.Popen(["bash"], cwd=folder, env=environment, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        while part := os.read(self.process.stdout.fileno(), 65536):
            self.tell(part.decode())
        self.tell("", True)

    def tell(self, more, is_over=False):
        with self.news:
            self.text += more
            self.is_over = is_over
            self.news.notify()

    def begin(self, command):
        self.text = ""
        self.process.stdin.write(f"{{ {command}\n}} </dev/null; printf '\\001'\n".encode())
        self.process.stdin.flush()

    def wait_for(self, pattern):
        with self.news:
            self.news.wait_for(lambda: re.search(pattern, self.text) or self.is_over, PATIENCE)
            assert re.search(pattern, self.text), f"no {pattern!r} in:\n{self.text}"

    def end(self):
        """The lines that the command has printed."""
        self.wait_for(MARK)
        return self.text[:self.text.index(MARK)].splitlines()


def blocks_of(page):
    """(first line, language, marks, lines) of each fenced block."""
    found, marks, block = [], {}, None
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if block is not None:
            if line == "```":
                found.append(block)
                block, marks = None, {}
            else:
                block[3].append(line)
        elif line.startswith("```"):
            block = (number + 1, line[3:], marks, [])
        elif match := MARKS.match(line):
            marks[match[1]] = match[2]
        else:
            marks = {}
    return found


def without_varying(line, more):
    for pattern, replacement in [(more, ""), *VARYING] if more else VARYING:
        line = re.sub(pattern, replacement, line)
    return line.split()


def is_same_word(a, b):
    """Reals of more than four digits may differ by the rounding of another processor."""
    if a == b:
        return True
    real = r"^\d+\.\d{5,}[,)]?$"
    return bool(re.match(real, a) and re.match(real, b)) and abs(float(a.strip(",)")) / float(b.strip(",)")) - 1) < 1e-4


def is_same(shown, printed, more=None):
    a, b = without_varying(shown, more), without_varying(printed, more)
    if any(words and words[-1].endswith("…") for words in (a, b)):
        # a line is cut at the width of the table, which depends on the numbers before
        a, b = " ".join(a).rstrip("…"), " ".join(b).rstrip("…")
        return a.startswith(b) or b.startswith(a)
    return len(a) == len(b) and all(map(is_same_word, a, b))


def compare(where, shown, printed, more=None):
    """Lines of the log may be more than those shown, and have no order among the others."""
    printed = [line for line in printed if not PROGRESS.match(line)]
    text = "\n".join(printed)
    log = [line for line in printed if LOG.match(line)]
    for line in filter(LOG.match, shown):
        assert any(is_same(line, each, more) for each in log), f"{where}: the log has no line\n{line}\nbut\n{text}"
    expected = [line for line in shown if not LOG.match(line)]
    given = [line for line in printed if not LOG.match(line)]
    for a, b in zip(expected, given):
        assert is_same(a, b, more), f"{where}: the page shows\n{a}\nand the command prints\n{b}\nof\n{text}"
    assert len(expected) == len(given), f"{where}: {len(expected)} lines are shown, {len(given)} printed:\n{text}"


def steps_of(first, lines):
    """(line, prompt, command, shown output); a block that begins with output has it under the prompt None."""
    steps = []
    for number, line in enumerate(lines, first):
        if match := PROMPT.match(line):
            steps.append((number, match[1], match[2], []))
        elif not steps:
            steps.append((number, None, "", [line]))
        else:
            steps[-1][3].append(line)
    return steps


class Reader:
    """Follows a page to the letter."""

    def __init__(self, folder, environment):
        self.shells = {name: Shell(folder, environment) for name in ("", "2")}
        self.running = None  # where the command stands that terminal 1 runs
        self.commands = 0

    def folder(self):
        return pathlib.Path(os.readlink(f"/proc/{self.shells[''].process.pid}/cwd"))

    def step(self, where, prompt, command, shown, more):
        shell = self.shells["" if prompt in (None, "1") else prompt]
        if prompt is None:
            assert self.running, f"{where}: output of no command"
            where, self.running = f"{where}, output of {self.running}", None
        else:
            shell.begin(command)
            self.commands += 1
        if prompt == "1":
            assert not shown, f"{where}: the output of terminal 1 stands in the next block without a prompt"
            self.running = where
        else:
            compare(where, shown, shell.end(), more)

    def follow(self, page):
        for first, language, marks, lines in blocks_of(page):
            if "not run" in marks:
                continue
            if "file" in marks:
                file = self.folder() / marks["file"]
                file.write_text("\n".join(lines) + "\n")
                if file.suffix == ".py":
                    compile(file.read_text(), str(file), "exec")
            elif language == "console":
                if "when 1$ shows" in marks:
                    self.shells[""].wait_for(marks["when 1$ shows"])
                for number, prompt, command, shown in steps_of(first, lines):
                    self.step(f"{page.name}:{number}", prompt, command, shown, marks.get("may differ"))
        assert self.running is None, f"{page.name}: nothing shows the output of {self.running}"
        self.follow_tables(page)

    def follow_tables(self, page):
        for number, line in enumerate(page.read_text().splitlines(), 1):
            if match := IN_TABLE.match(line):
                self.step(f"{page.name}:{number}", "", f"build/{match[1]} >/dev/null 2>&1; echo status $?", ["status 0"], None)


def copy_of(source, build, scratch):
    """A clone whose `make build` has succeeded, and a home."""
    shutil.rmtree(scratch, ignore_errors=True)
    clone, home = scratch / "clone", scratch / "home"
    (clone / "build").mkdir(parents=True)
    home.mkdir()
    for each in source.iterdir():
        if each.name not in ("build", ".git"):
            (clone / each.name).symlink_to(each)
    (clone / "build/release").symlink_to(build)
    (clone / "build/troupe").symlink_to("release/bin/troupe")
    return clone, home


def surroundings(source, home):
    """A user's variables; what was compiled before from the same files need not be compiled again."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TROUPE_")}
    kept.setdefault("CCACHE_DIR", os.path.expanduser("~/.cache/ccache"))
    if shutil.which("ccache"):
        kept["CMAKE_CXX_COMPILER_LAUNCHER"] = "ccache"
    return kept | {"HOME": str(home), "LC_ALL": "C.UTF-8", "CCACHE_BASEDIR": str(source), "CCACHE_NOHASHDIR": "1",
                   "CCACHE_SLOPPINESS": "time_macros,include_file_mtime,include_file_ctime"}


def enter_own_processes():
    """Commands of pages look for processes by name: they see those of this test alone, and none outlives it."""
    own = ["unshare", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"]), "--pid", "--fork", "--kill-child",
           "--mount-proc"]
    if "TROUPE_OWN_PROCESSES" in os.environ:
        return
    if subprocess.run([*own, "true"], capture_output=True).returncode != 0:
        print("no process namespaces here: the pages would kill processes of others")
        sys.exit(77)
    os.execvpe(own[0], [*own, sys.executable, *sys.argv], os.environ | {"TROUPE_OWN_PROCESSES": "yes"})


def check_that_wrong_pages_are_refused(folder):
    """A planted page is right; with another number, a line more, a line less or an unknown line of the log it is not."""
    right = "warning: it took 2 s\nsum 0.123456, 3 s\nend"
    command = "$ printf 'warning: it took 5 s\\nsum 0.123457, 9 s\\nend\\n'\n"
    wrong = [right.replace("0.123456", "0.123956"), right.replace("end", "End"), right + "\nmore",
             right.replace("\nend", ""), right.replace("it took", "they took"), right.replace("3 s", "3 ms")]
    page = folder / "planted.md"
    for text in [right, *wrong]:
        page.write_text(f"```console\n{command}{text}\n```\n")
        try:
            Reader(folder, dict(os.environ)).follow(page)
            is_taken = True
        except AssertionError:
            is_taken = False
        assert is_taken == (text == right), f"{'taken' if is_taken else 'refused'}: {text}"


def main():
    enter_own_processes()
    source, build, scratch = (pathlib.Path(each).resolve() for each in sys.argv[1:4])
    check_that_wrong_pages_are_refused(copy_of(source, build, scratch)[0])
    for name in sys.argv[4:]:
        clone, home = copy_of(source, build, scratch)
        reader = Reader(clone, surroundings(source, home))
        reader.follow(source / name)
        assert reader.commands, f"{name} has no command"
        print(f"{name}: {reader.commands} commands")
    shutil.rmtree(scratch)


if __name__ == "__main__":
    main()
