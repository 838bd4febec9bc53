#!/usr/bin/python3
"""tests/vectors.txt against the tests.

vector_table.py static    each row names tests that exist and name it; each id in a test is a row
vector_table.py ran DIR   each row has a test that passed, by the records in DIR (ran.py, record.sh)
"""
import os
import re
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
ID = r"(?:[HADTQRS]-\d{3}|C-\d{1,3})"
SHARED = ("support/vectors.py", "support/host_vectors.h")


def table():
    """[(id, claim, {ctest name: [test, ...]})]; a fuzz target has no tests of its own: ["ok"]."""
    rows = []
    with open(os.path.join(ROOT, "vectors.txt"), encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            if line.startswith("#") or not line.strip():
                continue
            m = re.fullmatch(r"(%s) ([^|]+) \| (.+)\n" % ID, line)
            if not m:
                sys.exit("vectors.txt:%d: not a row: %r" % (number, line))
            tests = {}
            for word in m[3].split():
                name, _, functions = word.partition(":")
                tests[name] = functions.split(",") if functions else ["ok"]
            rows.append((m[1], m[2].strip(), tests))
    return rows


def source(name):
    """The file of a ctest test, relative to tests/."""
    kind, _, stem = name.partition(".")
    for path in {"unit": ["unit/test_%s.c"], "fuzz": ["fuzz/fuzz_%s.c"], "integration": [
            "integration/test_%s.py", "integration/vectors_%s.py",
            "integration/%s.py"]}.get(kind, []):
        if os.path.exists(os.path.join(ROOT, path % stem)):
            return path % stem
    return None


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return f.read()


def names_it(text, ident):
    """Whether a file has the id: as it is, in the name of a function, or within "X-1 to X-9"."""
    if re.search(r"\b%s\b" % ident, text) or "_%s_" % ident.lower().replace("-", "") in text:
        return True
    return any(a <= ident <= b for a, b in re.findall(r"\b(%s) to (%s)\b" % (ID, ID), text)
               if a[0] == ident[0] == b[0] and len(a) == len(ident) == len(b))


def static():
    wrong, seen = [], set()
    for ident, _, tests in table():
        if ident in seen:
            wrong.append("%s: stands there twice" % ident)
        seen.add(ident)
        named = ident.startswith("C-")
        for name, functions in tests.items():
            path = source(name)
            if not path:
                wrong.append("%s: no such test: %s" % (ident, name))
                continue
            text = read(path)
            for fn in functions:
                if fn != "ok" and not re.search(r"\b(?:void|def) %s\(" % fn, text):
                    wrong.append("%s: %s has no %s" % (ident, path, fn))
            named = named or names_it(text, ident)
        if not named and not any(names_it(read(p), ident) for p in SHARED):
            wrong.append("%s: none of its tests says so" % ident)
    used = set()
    for kind in ("unit", "integration", "fuzz", "support"):
        for file in os.listdir(os.path.join(ROOT, kind)):
            if file.endswith((".c", ".py", ".h")) and file != os.path.basename(__file__):
                used |= set(re.findall(r"\b[HADTQRS]-\d{3}\b", read(os.path.join(kind, file))))
    wrong += ["%s stands in a test and is no row" % i for i in sorted(used - seen)]
    if len(seen) < 250:
        wrong.append("only %d rows" % len(seen))
    return wrong


def ran(directory):
    wrong, passed = [], {}
    for ident, claim, tests in table():
        missing = []
        for name, functions in tests.items():
            if name not in passed:
                path = os.path.join(directory, name)
                passed[name] = set(open(path, encoding="utf-8").read().split()) \
                    if os.path.exists(path) else None
            if passed[name] is None:
                missing.append("%s (has not run)" % name)
            else:
                missing += ["%s:%s" % (name, f) for f in functions if f not in passed[name]]
        if missing:
            wrong.append("%s (%s): did not pass: %s" % (ident, claim, " ".join(missing)))
    return wrong


def main():
    if sys.argv[1:] == ["static"]:
        wrong = static()
    elif len(sys.argv) == 3 and sys.argv[1] == "ran":
        wrong = ran(sys.argv[2])
    else:
        sys.exit(__doc__)
    for line in wrong:
        print("FAIL: " + line, file=sys.stderr)
    if wrong:
        sys.exit("%d failed" % len(wrong))
    print("%d rows" % len(table()))


if __name__ == "__main__":
    main()
