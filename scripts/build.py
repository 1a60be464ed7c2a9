#!/usr/bin/env python3
"""Builds targets of a configured folder with one line of progress in place of one per step.

    scripts/build.py BUILD_DIR [-j JOBS] [TARGET...]

Progress goes to stderr: rewritten in place on a terminal, one line every 15 s elsewhere. The full output is in
BUILD_DIR/build.log. When a step fails, its output is printed, and the exit status is the build's.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import time

SECONDS_BETWEEN_LINES = 15
STEP = re.compile(r"^\[(\d+)/(\d+)\] (.*)")


def short_name(step):
    """"runtime/os/resource_check.cpp" of "Building CXX object runtime/os/CMakeFiles/troupe_os.dir/resource_check.cpp.o"."""
    return re.sub(r"CMakeFiles/[^/]+\.dir/", "", step.split(" ")[-1]).removesuffix(".o")


class Progress:
    def __init__(self, label, out):
        self.label = label
        self.out = out
        self.in_place = out.isatty()
        self.begin = time.monotonic()
        self.last_line = self.begin
        self.steps = 0

    def step(self, done, total, text):
        self.steps = int(done)
        seconds = time.monotonic() - self.begin
        line = f"{self.label}: {done} of {total} steps, {seconds:.0f} s"
        if self.in_place:
            columns = shutil.get_terminal_size().columns
            self.out.write("\r\x1b[K" + f"{line}, {short_name(text)}"[: columns - 1])
            self.out.flush()
        elif time.monotonic() - self.last_line >= SECONDS_BETWEEN_LINES:
            self.last_line = time.monotonic()
            print(line, file=self.out, flush=True)

    def close(self, status):
        if self.in_place and self.steps:
            self.out.write("\r\x1b[K")
        if self.steps and status == 0:
            seconds = time.monotonic() - self.begin
            print(f"{self.label}: {self.steps} steps in {seconds:.0f} s", file=self.out, flush=True)


def failures(lines):
    """What the failed steps wrote, without their command lines; what the build tool itself said, where no step failed."""
    shown, is_failed = [], False
    for line in lines:
        if line.startswith("FAILED: "):
            is_failed, is_command = True, True
            shown.append(line)
        elif STEP.match(line):
            is_failed = False
        elif is_failed and is_command:
            is_command = False
        elif is_failed and not line.startswith("ninja: build stopped"):
            shown.append(line)
    return shown or [line for line in lines if not STEP.match(line)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build_dir")
    parser.add_argument("targets", nargs="*")
    parser.add_argument("-j", dest="jobs", default=str(os.cpu_count()))
    arguments = parser.parse_intermixed_args()

    command = ["cmake", "--build", arguments.build_dir, "-j", arguments.jobs]
    if arguments.targets:
        command += ["--target", *arguments.targets]
    log_path = os.path.join(arguments.build_dir, "build.log")
    progress = Progress("build " + os.path.basename(os.path.normpath(arguments.build_dir)), sys.stderr)
    lines = []
    environment = dict(os.environ, NINJA_STATUS="[%f/%t] ")
    with open(log_path, "w", encoding="utf-8") as log:
        build = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                                 env=environment)
        for line in build.stdout:
            log.write(line)
            log.flush()
            lines.append(line)
            if match := STEP.match(line):
                progress.step(*match.groups())
        status = build.wait()
    progress.close(status)
    if status != 0:
        sys.stderr.write("".join(failures(lines)))
        print(f"The build failed; its full output is in {log_path}", file=sys.stderr)
    return status


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
