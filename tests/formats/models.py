#!/usr/bin/python3
"""models.py FORETRAIN FOLDER: every config.json of the manifest read by `foretrain show model --json`. Sizes equal the
manifest's, counts equal to the digit where it calls them certain (those that it counted itself likewise, unless
`--certain`), and what it wants refused is refused by name."""
import json
import os
import sys

import manifest

SIZES = ("layers", "hidden", "heads", "kv_heads", "head_dim", "ffn", "vocab")


def faults_of(row, status, out, err):
    name, facts = row["file"], row["facts"]
    if status not in (0, 2):
        return [f"{name}: status {status}: {err.strip()}"]
    if status == 2:
        if "refuse" in row["expect"]:
            type_ = facts.get("model_type", "")
            return [] if f"'{type_}'" in err else [f"{name}: refused, but not by name: {err.strip()}"]
        return [f"{name}: {err.strip()}"]
    if row["expect"] == "refuse":
        return [f"{name}: read, expected to be refused"]
    model = json.loads(out)
    faults = [f"{name}: {key} {model[key]}, expected {facts[key]}"
              for key in SIZES if key in facts and model[key] != int(facts[key])]
    if "tied" in facts and model["tied"] != (facts["tied"] == "True"):
        faults.append(f"{name}: tied {model['tied']}")
    for key, column in (("parameters", "params"), ("active_parameters", "active")):
        if row[column] and model[key] != int(row[column]):
            faults.append(f"{name}: {key} {model[key]}, expected {row[column]} "
                          f"({model[key] - int(row[column]):+d}; {row['params_source'][:20]})")
    return faults


def main():
    program, folder = sys.argv[1:3]
    faults, count = [], 0
    for row in manifest.rows(folder, {"hf-config"}):
        count += 1
        faults += faults_of(row, *manifest.run([program, "show", "model", os.path.join(folder, row["file"]), "--json"]))
    manifest.finish("models", count, faults)


main()
