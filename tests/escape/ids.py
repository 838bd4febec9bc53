#!/usr/bin/python3
"""Which test answers which row of the vectors about the sandbox, the kernel and tools.

A row is shown by a probe of rows.py, by a test of this directory that says @shows("ID"), by a tool of
test_tools.py, or by a test elsewhere that is named here. What nobody can show has a reason here.
Run as a program it checks that no row is without an answer; each driver checks, when it ends, that
what it answers for did run.
"""
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")

IDS = """
N-001 N-002 N-004 N-005 N-006 N-007 N-009 N-010 N-011 N-012 N-014 N-015 N-016 N-017 N-019 N-020 N-021
N-022 N-024 N-025 N-026 N-027 N-029
U-001 U-002 U-004 U-005 U-006 U-007 U-009 U-010 U-011 U-012 U-014 U-015
X-001 X-002 X-004 X-005 X-006 X-007 X-009 X-010 X-011 X-012 X-014 X-015 X-016 X-017 X-019 X-020 X-021
X-022 X-024 X-025 X-026 X-027 X-029 X-030 X-031 X-032 X-034 X-035 X-036 X-037 X-039
X-040 X-041 X-042 X-044 X-045 X-046
F-001 F-002 F-004 F-005 F-006 F-007 F-009 F-010 F-011 F-012 F-014 F-015 F-016 F-017 F-019 F-020 F-021
F-022 F-024
L-001 L-002 L-004 L-005 L-006 L-007 L-009 L-010 L-011 L-012 L-014 L-015 L-016 L-017 L-019 L-020 L-021
L-022 L-024 L-025 L-026 L-027 L-029 L-030 L-031 L-032 L-034 L-035
G-01 G-02 G-03 G-04 G-05 G-06
K-01 K-02 K-03 K-04 K-05 K-06 K-07 K-08 K-09 K-10 K-20 K-21 K-22 K-23 K-24
C-01 C-02 C-03 C-04 C-05 C-06 C-07 C-09 C-10 C-11 C-12 C-14 C-15 C-16 C-17 C-19 C-20 C-21 C-22 C-24
C-25 C-26
M-06
""".split()

INTEGRATION, UNIT = "tests/integration/", "tests/unit/"
ELSEWHERE = {
    "U-011": INTEGRATION + "test_serve.py test_descriptors_sent_to_the_proxy_are_dropped",
    "X-007": INTEGRATION + "test_terminal.py test_interrupt_comes_once",
    "X-044": INTEGRATION + "test_terminal.py test_shell_does_job_control",
    "F-016": UNIT + "test_launcher.c test_a_missing_grant_stops_the_start",
    "L-004": UNIT + "test_program.c test_find_takes_paths_as_they_are",
    "L-005": INTEGRATION + "test_pin.py test_replaced_while_it_starts",
    "L-006": INTEGRATION + "test_pin.py test_a_writer_that_goes_on",
    "L-007": INTEGRATION + "test_pin.py test_scripts_are_refused",
    "L-009": INTEGRATION + "test_pin.py test_malformed_pins",
    "L-010": UNIT + "test_pin.c test_check_takes_the_right_program_only",
    "L-011": UNIT + "test_landlock_abi.c test_rights_refuses_with_the_remedy",
    "L-012": UNIT + "test_landlock.c test_build_fails_when_a_rule_does",
    "L-015": UNIT + "test_seccomp.c test_table_is_complete",
    "L-020": INTEGRATION + "test_serve.py test_private_sockets",
    "L-021": INTEGRATION + "test_serve.py test_other_users_are_turned_away",
    "L-024": INTEGRATION + "test_bridge.py test_killing_the_bridge_opens_nothing",
    "L-026": INTEGRATION + "test_run.py test_two_runs_do_not_meet",
    "L-027": INTEGRATION + "test_run.py test_own_status",
    "L-029": INTEGRATION + "test_run.py test_enforced_from_inside",
    "L-034": INTEGRATION + "test_policy_files.py test_policy",
    "G-01": UNIT + "test_landlock_abi.c test_query_answers_for_this_kernel",
    "G-03": UNIT + "test_landlock_abi.c test_rights_of_a_newer_kernel_are_those_reviewed",
    "G-04": UNIT + "test_landlock_abi.c test_rights_are_exact_for_each_abi",
    "G-05": UNIT + "test_landlock.c test_enforce_fails_past_sixteen_layers",
    "K-01": UNIT + "test_seccomp.c test_install_is_not_fooled_by_high_bits",
    "K-04": UNIT + "test_seccomp.c test_filter_kills_foreign_architectures",
    "K-07": UNIT + "test_seccomp.c test_filter_refuses_numbers_past_the_table",
    "K-10": UNIT + "test_seccomp.c test_install_denies_with_the_listed_errno",
    "K-21": UNIT + "test_seccomp.c test_filter_looks_at_the_low_half_of_arguments",
    "K-22": UNIT + "test_seccomp.c test_filter_matches_the_table",
    "K-23": UNIT + "test_seccomp.c test_program_is_well_formed",
    "K-24": UNIT + "test_seccomp.c test_program_is_the_reviewed_one",
    "C-15": "tests/clients/scripts/node-fetch.sh",
    "C-16": "tests/clients/scripts/git-ssh.sh",
    "C-17": "tests/clients/scripts/cargo.sh",
    "C-22": INTEGRATION + "test_clients.py test_many_python_threads",
    "C-24": UNIT + "test_dial.c test_silent_address_does_not_hold_the_next_one_up",
}

REASONS = {
    "X-046": "what a terminal makes of output is not ours: docs/threat-model.md says so",
    "L-032": "pid 1 writes its own maps by /proc/self; nobody writes those of another process",
    "G-02": "the errata mask is not read: features are not given up for it",
    "G-06": "the calls that those bugs need are refused: X-021",
    "K-02": "a fact: calls whose meaning lies behind a pointer are refused whole: X-010, K-20",
    "K-03": "a fact: descriptors are closed instead: U-001",
    "K-05": "a fact: X-029 shows it",
    "K-06": "a fact: no decision is made on a notification",
    "K-08": "a fact: a call without the kernel reaches nothing outside",
    "C-12": "fails by design: the manual page says so",
    "C-20": "fails by design: the manual page says so",
}


def shown_here():
    sys.path.insert(0, HERE)
    import rows  # pylint: disable=import-outside-toplevel
    import test_tools  # pylint: disable=import-outside-toplevel
    found = {r.id for r in rows.SOCKETS + rows.PROCESSES + rows.FILES + rows.PROTECTED}
    found |= {tool[0] for tool in test_tools.TOOLS}
    for name in os.listdir(HERE):
        if name.startswith("test_"):
            with open(os.path.join(HERE, name), encoding="utf-8") as f:
                for args in re.findall(r"@shows\(([^)]*)\)", f.read()):
                    found |= set(re.findall(r'"([^"]+)"', args))
    return found


def exists(where):
    path, _, test = where.partition(" ")
    path = os.path.join(ROOT, path)
    if not os.path.exists(path):
        return False
    with open(path, encoding="utf-8") as f:
        return not test or re.search(r"\b%s\(" % test, f.read()) is not None


def main():
    here, faults = shown_here(), []
    for ident in IDS:
        places = [ident in here, ident in ELSEWHERE, ident in REASONS]
        if sum(places) == 0:
            faults.append("%s: no test shows it" % ident)
        if ident in REASONS and sum(places) > 1:
            faults.append("%s: it is shown, and has a reason why it cannot be" % ident)
    for ident, where in ELSEWHERE.items():
        if not exists(where):
            faults.append("%s: no such test: %s" % (ident, where))
    for ident in sorted((here | set(ELSEWHERE) | set(REASONS)) - set(IDS)):
        if re.fullmatch(r"[A-Z]-\d+", ident):
            faults.append("%s: not in the list" % ident)
    print("\n".join(faults) or "%d rows, %d of them here" % (len(IDS), len(here)))
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
