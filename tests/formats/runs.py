#!/usr/bin/python3
"""runs.py FORETRAIN FOLDER: every configuration of the manifest read by `foretrain convert --json`. Each fact of the manifest
that a run has a word for must be found; the argv that bash makes of a launch script (expected/NAME.json) is read to the
manifest's facts; what must be refused is refused. A script is read without running it to what its argv is read to, but for
what its reading says that the file leaves open; or it is refused for a reason that is true of it:
  - a variable or the launch hangs on a condition, a loop or a function, and the line that is named begins one;
  - no command of it launches a training with flags: no line with a launcher has a flag of sizes, and none is run by eval."""
import json
import os
import re
import sys

import manifest

KINDS = {"megatron-launch", "megatron-yaml", "nemo-yaml", "nanotron-yaml", "neox-yml", "torchtitan", "maxtext-yml", "foundry-yaml",
         "finetune-yaml", "deepspeed-json"}
MODEL = ("layers", "hidden", "heads", "kv_heads", "ffn", "vocab")
PLAN = {"tp": 1, "pp": 1, "cp": 1, "ep": 1, "vpp": 1, "micro_batch": 1, "zero": 0}


def number(text):
    try:
        return int(float(text))
    except ValueError:
        return None


def faults_of(name, facts, run):
    faults = []
    model, plan = run["model"] or {}, run["plan"] or {}

    def compare(key, found, expected):
        if found != expected:
            faults.append(f"{name}: {key} {found}, expected {expected}")

    for key in MODEL:
        if number(facts.get(key, "")) is not None and key in model:
            compare(key, model[key], number(facts[key]))
        elif number(facts.get(key, "")) is not None and "name" not in model:
            compare(key, None, number(facts[key]))
    for key, usual in PLAN.items():
        if number(facts.get(key, "")) is not None:
            compare(key, plan.get(key, usual), number(facts[key]))
    for key in ("seq", "global_batch"):
        if number(facts.get(key, "")) is not None:
            compare(key, run[key], number(facts[key]))
    if "nodes" in facts and "gpus_per_node" in facts:
        compare("gpus", run["gpus"], int(facts["nodes"]) * int(facts["gpus_per_node"]))
    elif "gpus" in facts:
        compare("gpus", run["gpus"], int(facts["gpus"]))
    if facts.get("distributed_optimizer") == "1" and "sharding" not in facts:
        compare("zero", plan.get("zero"), 1)
    if "sharding" in facts and facts["sharding"] in ("FULL_SHARD", "optim_grads_params"):
        compare("zero", plan.get("zero"), 3)
    for key in ("bf16", "fp16"):
        if facts.get(key) in ("1", "True") and "fp8" not in facts:
            compare("precision", plan.get("precision"), key)
    if facts.get("sp") == "1" and number(facts.get("tp", "1")) > 1:
        compare("sp", plan.get("sp"), True)
    if facts.get("recompute") == "full" or facts.get("checkpoint_activations") == "1":
        compare("recompute", plan.get("recompute"), "full")
    if "tied" in facts and "tied" in model:
        compare("tied", model["tied"], facts["tied"] == "True")
    if "lora_rank" in facts:
        compare("lora", plan.get("lora"), int(facts["lora_rank"]))
    if "model" in facts and "flavor" not in facts and not model.get("name"):
        faults.append(f"{name}: no model, expected {facts['model']}")
    return faults


BLOCK = re.compile(r"^\s*(if|for|while|until|case|select|function)\b|\(\)|\{\s*$|(\[|\btest\b).*(&&|\|\|)")
LAUNCH = re.compile(r"^[^#]*\b(torchrun|deepspeed|srun|mpirun|python3?|torch\.distributed)\b.*--(num-layers|micro-batch-size)")


def untrue_refusal(path, err):
    """What is wrong with a refusal; None where it is right."""
    if "foretrain capture" not in err:
        return "does not name capture"
    with open(path) as file:
        lines = file.read().split("\n")
    begins = re.search(r"(?:begins in|before it in) line (\d+)", err)
    if begins:
        return None if BLOCK.search(lines[int(begins[1]) - 1]) else f"line {begins[1]} begins no block"
    if "the launch hangs on" in err:
        return None if any(BLOCK.search(line) for line in lines) else "there is no block"
    if "found no command that launches" in err:
        joined = "\n".join(lines).replace("\\\n", " ").split("\n")
        return "a line launches one" if any(LAUNCH.search(line) for line in joined) else None
    return "gives another reason"


NODES = re.compile(r"\$\{\w*(NNODES|NODES|WORLD_SIZE)\w*:?-")


def differences(name, static, argv, text):
    """Where a script's reading differs from that of its argv, except in what it says to be open, and in nodes that it takes from
    an environment, of which the argv had one and its reading has the default."""
    faults = []
    opened = " ".join(line for line in static["assumed"] if "does not say" in line)
    for part in ("model", "plan"):
        ours, theirs = static[part] or {}, argv[part] or {}
        for key in set(ours) | set(theirs):
            if ours.get(key) != theirs.get(key):
                faults.append(f"{name}: {part} {key} {ours.get(key)} statically, {theirs.get(key)} by its argv")
    for key in ("seq", "global_batch", "stack"):
        if static[key] != argv[key]:
            faults.append(f"{name}: {key} {static[key]} statically, {argv[key]} by its argv")
    if static["gpus"] != argv["gpus"] and "nnodes" not in opened and "nodes by the script's header" not in opened \
            and not NODES.search(text):
        faults.append(f"{name}: gpus {static['gpus']} statically, {argv['gpus']} by its argv")
    return faults


def check_static(program, path, name, expected):
    status, out, err = manifest.run([program, "convert", path, "--json"])
    if status == 2:
        wrong = untrue_refusal(path, err)
        return [f"{name}: refused, but {wrong}: {err.strip()}"] if wrong else []
    status, argv, err = manifest.run([program, "convert", expected, "--json"])
    with open(path) as file:
        return differences(name, json.loads(out), json.loads(argv), file.read()) if status == 0 else []


def check(program, row, command, stdin=None):
    name = row["file"]
    status, out, err = manifest.run(command, stdin)
    if status not in (0, 2):
        return [f"{name}: status {status}: {err.strip()}"]
    if row["expect"].startswith("refuse"):
        return [] if status == 2 else [f"{name}: read, expected to be refused"]
    if row["expect"] == "part of another":
        return []
    if status == 2:
        wrong = untrue_refusal(command[2], err) if row["kind"] == "megatron-launch" else "expected to be read"
        return [f"{name}: {wrong}: {err.strip()}"] if wrong else []
    return faults_of(name, row["facts"], json.loads(out))


def main():
    program, folder = sys.argv[1:3]
    faults, count = [], 0
    for row in manifest.rows(folder, KINDS):
        if row["expect"] in ("reference",):
            continue
        count += 1
        # Without its environment a script does not say on how many nodes it runs.
        static = row["kind"] == "megatron-launch"
        facts = {key: value for key, value in row["facts"].items() if not static or key != "nodes"}
        faults += check(program, dict(row, facts=facts), [program, "convert", os.path.join(folder, row["file"]), "--json"])
        expected = os.path.join(folder, "megatron-launch", "expected", os.path.basename(row["file"]) + ".json")
        if os.path.exists(expected):
            count += 1
            faults += check_static(program, os.path.join(folder, row["file"]), row["file"], expected)
            row = dict(row, file="expected argv of " + row["file"])
            faults += check(program, row, [program, "convert", expected, "--json"])
    manifest.finish("runs", count, faults)


main()
