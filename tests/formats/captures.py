#!/usr/bin/python3
"""captures.py FORETRAIN FOLDER: the manifest's launch scripts run by `foretrain capture`, in a scratch folder and with what
expected/NAME.json was given. The words from the program on must be those that bash makes of the script, but for paths of that
folder, ports and times."""
import json
import os
import re
import subprocess
import sys
import tempfile

import manifest


def program_on(argv):
    """From the program on; launchers' words differ by who recorded them."""
    for i, word in enumerate(argv):
        if word.endswith(".py"):
            return [os.path.basename(word)] + argv[i + 1:]
    return argv


def captured(program, script, given):
    environment = dict(os.environ, **{key: value for key, value in given.get("environment", {}).items() if key.isidentifier()})
    environment["SLURM_JOB_NUM_NODES"] = environment.get("SLURM_NNODES", "1")
    with tempfile.TemporaryDirectory() as folder:
        # As those who wrote the expected words did: other people's files and modules are not here.
        with open(script) as file:
            lines = [line for line in file
                     if not re.match(r"\s*(source |\. |module |set -|\[\[ -f )", line) and "sleep " not in line]
        path = os.path.join(folder, os.path.basename(script))
        with open(path, "w") as file:
            file.writelines(lines)
        open(os.path.join(folder, "pretrain_gpt.py"), "w").close()  # some look whether it is there
        command = [program, "capture", "--gpus-per-node", "8", "--", "bash", path] + given.get("positional", "").split()
        done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, timeout=60,
                              stdin=subprocess.DEVNULL)
    return done


def flags_of(words):
    """Flags with their words, in order."""
    flags = []
    for word in words:
        if word.startswith("--"):
            flags.append((word, []))
        elif flags:
            flags[-1][1].append(word)
    return flags


def same(found, expected):
    if found == expected or expected == []:  # empty: of a program (perl) that was not there
        return True
    both = found + expected
    if any("/" in word or word.endswith("json") for word in both):  # folders of who ran it
        return True
    return all(re.fullmatch(r"[0-9]{4,5}", word) for word in both)  # a port by chance


def main():
    program, folder = os.path.abspath(sys.argv[1]), sys.argv[2]
    faults, count = [], 0
    for row in manifest.rows(folder, {"megatron-launch"}):
        name = os.path.basename(row["file"])
        path = os.path.join(folder, "megatron-launch", "expected", name + ".json")
        if not os.path.exists(path):
            continue
        with open(path) as file:
            expected = json.load(file)
        if "more_commands" in expected:  # starts scripts that are not here
            continue
        count += 1
        done = captured(program, os.path.join(folder, row["file"]), expected["given"])
        if done.returncode != 0:
            faults.append(f"{name}: {done.stderr.strip().splitlines()[-1]}")
            continue
        found, wanted = program_on(json.loads(done.stdout)["argv"]), program_on(expected["argv"])
        found, wanted = flags_of(found), flags_of(wanted)
        differ = [(a, b) for a, b in zip(found, wanted) if a[0] != b[0] or not same(a[1], b[1])]
        if len(found) != len(wanted) or differ:
            faults.append(f"{name}: {len(found)} flags, expected {len(wanted)}; {differ[:3]}")
    manifest.finish("captures", count, faults)


main()
