"""The manifest of real files (../shared/data/formats), which are other people's and so not in the repository."""
import csv
import os
import subprocess
import sys


def rows(folder, kinds):
    """Rows of MANIFEST.csv of these kinds, their facts as a map; one line and status 77 where the folder is absent."""
    path = os.path.join(folder, "MANIFEST.csv")
    if not os.path.exists(path):
        print(f"skipped: no {path}")
        sys.exit(77)
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            if row["kind"] in kinds:
                row["facts"] = facts(row["facts"])
                yield row


def facts(text):
    return dict(item.split("=", 1) for item in text.split("; ") if "=" in item)


def run(command, stdin=None):
    done = subprocess.run(command, capture_output=True, text=True, input=stdin, timeout=60)
    return done.returncode, done.stdout, done.stderr


def finish(name, count, faults):
    for fault in faults:
        print(fault)
    print(f"{name}: {count} files, {len(faults)} faults")
    sys.exit(1 if faults else 0)
