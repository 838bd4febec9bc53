#!/usr/bin/python3
"""Which lines ran in the coverage build: ./bootstrap coverage. See coverage.c for the counters.

usage: coverage.py begin BUILD          forget what ran before
       coverage.py report BUILD [LEAST] the table; fails if a directory of DIRS has less, in percent
       coverage.py missing BUILD FILE.. the lines of these files that never ran
"""
import json
import os
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DIRS = ["policy", "proxy", "dns", "netns", "launcher"]
ALSO = ["base", "cli"]  # shown, and without a bound


def counters_dir(build):
    with open(os.path.join(build, "CMakeCache.txt"), encoding="utf-8") as f:
        for line in f:
            if line.startswith("SBX_COVERAGE_DIR:"):
                return line.rstrip("\n").partition("=")[2]
    return sys.exit("coverage: %s is no coverage build" % build)


def begin(build):
    """Every uid that the tests run as makes its files in there."""
    counters = counters_dir(build)
    shutil.rmtree(counters, ignore_errors=True)
    os.mkdir(counters)
    os.chmod(counters, 0o777)


def programs(build):
    """The executables that the build made."""
    for top, dirs, files in os.walk(build):
        dirs[:] = [d for d in dirs if d not in ("CMakeFiles", "profiles")]
        for name in files:
            path = os.path.join(top, name)
            if os.path.islink(path) or not os.access(path, os.X_OK) or name.endswith(".so"):
                continue
            with open(path, "rb") as f:
                if f.read(4) == b"\x7fELF":
                    yield path


def collect(build):
    """Each program writes its counters down; all are merged. Returns the profile and who ran."""
    counters, profiles = counters_dir(build), os.path.join(build, "profiles")
    shutil.rmtree(profiles, ignore_errors=True)
    os.mkdir(profiles)
    ran = []
    for i, path in enumerate(sorted(programs(build))):
        out = os.path.join(profiles, "%d.profraw" % i)
        if not has_counters(counters, path):
            continue
        subprocess.run([path], env={"SBX_COVERAGE_OUT": out}, check=True, stdin=subprocess.DEVNULL)
        ran.append((path, out))
    if not ran:
        sys.exit("coverage: nothing has run in " + build)
    merged = os.path.join(profiles, "all.profdata")
    subprocess.run(["llvm-profdata", "merge", "-o", merged, *(out for _, out in ran)], check=True)
    return merged, [path for path, _ in ran]


def has_counters(counters, path):
    """Whether that program ran: it would do what it does, if it did not find its counters."""
    notes = subprocess.run(["readelf", "-n", path], capture_output=True, text=True, check=True)
    ids = [line.split()[-1] for line in notes.stdout.splitlines() if "Build ID" in line]
    return bool(ids) and os.path.exists(os.path.join(counters, ids[0][:16]))


def llvm_cov(build, how, *options):
    merged, ran = collect(build)
    objects = [ran[0]] + ["-object=" + path for path in ran[1:]]
    sources = [os.path.join(ROOT, d) for d in DIRS + ALSO]
    p = subprocess.run(["llvm-cov", how, *objects, "-instr-profile=" + merged, *options,
                        *sources], capture_output=True, text=True)
    if p.returncode:
        sys.exit("coverage: llvm-cov failed: " + p.stderr)
    return p.stdout


def report(build, least):
    data = json.loads(llvm_cov(build, "export", "-summary-only"))["data"][0]
    lines = {}
    for entry in data["files"]:
        name = os.path.relpath(entry["filename"], ROOT)
        count = entry["summary"]["lines"]
        lines.setdefault(name.split("/")[0], []).append((name, count["covered"], count["count"]))
    low = []
    for files in (lines.get(d, []) for d in DIRS + ALSO):
        for name, covered, count in sorted(f for f in files if f[2]):
            print("%-32s %6d of %6d  %5.1f %%" % (name, covered, count, percent(covered, count)))
    print()
    for d in DIRS + ALSO:
        covered = sum(f[1] for f in lines.get(d, []))
        count = sum(f[2] for f in lines.get(d, []))
        print("%-32s %6d of %6d  %5.1f %%" % (d + "/", covered, count, percent(covered, count)))
        if d in DIRS and percent(covered, count) < least:
            low.append(d)
    if low:
        sys.exit("coverage: below %g %% of lines: %s" % (least, ", ".join(low)))


def percent(covered, count):
    return 100.0 * covered / count if count else 0.0


def missing(build, files):
    """From the text of llvm-cov show: ` LINE|COUNT|SOURCE`."""
    wanted, shown = {os.path.abspath(f) for f in files}, False
    for line in llvm_cov(build, "show").splitlines():
        if line.startswith("/") and line.endswith(":"):
            shown = line[:-1] in wanted
            if shown:
                print(os.path.relpath(line[:-1], ROOT))
            continue
        parts = line.split("|", 2)
        if shown and len(parts) == 3 and parts[1].strip() == "0":
            print("%s|%s" % (parts[0], parts[2]))


def main(argv):
    if len(argv) < 3 or argv[1] not in ("begin", "report", "missing"):
        sys.exit(__doc__)
    if argv[1] == "begin":
        begin(argv[2])
    elif argv[1] == "report":
        report(argv[2], float(argv[3]) if len(argv) > 3 else 0.0)
    else:
        missing(argv[2], argv[3:])


if __name__ == "__main__":
    main(sys.argv)
