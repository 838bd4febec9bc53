#!/bin/sh
# What a start costs: `sbx-net run -- true` beside `unshare -Urn true` and a plain `true`,
# interleaved in the same run; medians in milliseconds, and the ratios. hyperfine does the timing
# if it is there, in short rounds so that a busy moment meets all of them; else a loop of our own.
#
#   SBX_NET=build/release/cli/sbx-net tests/bench/startup.sh [RUNS]
#   SBX_BENCH_UID=65534 ...    as that user (default: as the caller)
set -eu
sbx=$(command -v "${SBX_NET:-sbx-net}") || { echo "startup.sh: set SBX_NET" >&2; exit 1; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir -m 777 "$dir/ws" "$dir/home"
chmod 755 "$dir"
cp "$sbx" "$dir/sbx-net"
chmod 755 "$dir/sbx-net"
HOME="$dir/home" WS="$dir/ws" RUNS="${1:-100}" SBX="$dir/sbx-net" python3 - <<'EOF2'
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time

sbx, runs = os.environ["SBX"], int(os.environ["RUNS"])
os.chdir(os.environ["WS"])
if os.environ.get("SBX_BENCH_UID"):
    uid = int(os.environ["SBX_BENCH_UID"])
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
run = [sbx, "run", "--no-config", "--ask", "never"]
commands = {
    "true": ["true"],
    "unshare -Urn true": ["unshare", "-Urn", "true"],
    "sbx-net run -- true": run + ["--", "true"],
    "sbx-net run -a example.com -- true": run + ["-a", "example.com", "--", "true"],
    "sbx-net run --no-capture -- true": run + ["--no-capture", "--", "true"],
    "sbx-net run --fs off -- true": run + ["--fs", "off", "--", "true"],
}
for name in list(commands):  # an option that this version does not have is left out
    if subprocess.run(commands[name], stderr=subprocess.DEVNULL).returncode:
        del commands[name]
times = {name: [] for name in commands}
if shutil.which("hyperfine"):
    rounds = 5
    with tempfile.NamedTemporaryFile(dir=".") as out:
        for _ in range(rounds):
            subprocess.run(["hyperfine", "-N", "--style", "none", "--warmup", "2", "--runs",
                            str(max(2, runs // rounds)), "--export-json", out.name,
                            *(" ".join(argv) for argv in commands.values())],
                           check=True, stdout=subprocess.DEVNULL)
            with open(out.name, encoding="utf-8") as f:
                for name, result in zip(commands, json.load(f)["results"]):
                    times[name] += result["times"]
else:
    for _ in range(runs):
        for name, argv in commands.items():
            start = time.monotonic()
            subprocess.run(argv, check=True)
            times[name].append(time.monotonic() - start)
median = {name: 1000 * statistics.median(t) for name, t in times.items()}
print("| command | median ms | over true | of unshare -Urn |\n|---|---|---|---|")
for name, ms in median.items():
    print("| %s | %.1f | %.1f | %.2f |" % (name, ms, ms - median["true"],
                                          ms / median["unshare -Urn true"]))
extra = median["sbx-net run -- true"] - median["unshare -Urn true"]
print("\nratio %.2f, %.1f ms more than unshare -Urn true (limit 20): %s" % (
    median["sbx-net run -- true"] / median["unshare -Urn true"], extra,
    "ok" if extra <= 20 else "TOO SLOW"))
EOF2
