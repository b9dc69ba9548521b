#!/usr/bin/python3
"""megatron_golden.py FORETRAIN FOLDER [--rows]: Megatron-LM's functional tests (FOLDER/megatron-golden), whose arguments, seconds
and peak bytes Megatron keeps, predicted from their arguments alone. Bytes are torch's max_memory_allocated of the last rank,
which writes TensorBoard, and so of the last stage. Each set counts once by its arguments and GPU: goldens of one set differ
among themselves by what Megatron and its container were when they were taken, and the middle one stands for them.
Seconds are printed and not judged. Sets with --deterministic-mode and without are alike predicted about twice as fast as they
were, while the one set whose steps take seconds (Mixtral 8x22B on H100s) is met within 4 %: models of 12 layers of 512 are so small
that the host decides their steps, and what it does besides in such a test is no argument. "Seconds among themselves" says by which
factor sets differ whose arguments are the same but for checkpoints, data and logs."""
import csv
import json
import os
import statistics
import subprocess
import sys
from collections import defaultdict

CLUSTERS = {"a100": "dgx-a100", "h100": "dgx-h100", "gb200": "gb200-nvl72"}
GIB = 2**30
# Medians of the error of peak bytes, above 1 GiB.
AIMS = {"dense": 0.03, "experts": 0.06, "latent": 0.06}


def flags_of(path):
    """The arguments' words, as far as classes need them; the reader under test is foretrain's."""
    with open(path) as file:
        lines = [line.split("#")[0].strip() for line in file]
    return {line.split(":")[0]: line.split(":", 1)[1].strip() for line in lines if line.startswith("--") and ":" in line}


def number(flags, key):
    return int(flags.get(key, "1") or "1")


def gpus_of(row, flags):
    """As stated; else one node of eight, or as many as the degrees need."""
    if row["nodes"]:
        return int(row["nodes"]) * int(row["gpus_per_node"])
    pp, tp = number(flags, "--pipeline-model-parallel-size"), number(flags, "--tensor-model-parallel-size")
    etp = int(flags.get("--expert-tensor-parallel-size", tp))
    dense = pp * tp * number(flags, "--context-parallel-size")
    experts = pp * etp * number(flags, "--expert-model-parallel-size")
    return max(8, dense, experts)


def class_of(flags):
    if "--multi-latent-attention" in flags:
        return "latent"
    return "experts" if "--num-experts" in flags else "dense"


# What says where a test reads and writes, and how long it runs.
BESIDES = ("save", "load", "log", "data", "tensorboard", "ckpt", "checkpoint", "exit", "train-iters", "vocab", "merge", "tokenizer")


def same_run(flags, gpu):
    return gpu, tuple(sorted((key, value) for key, value in flags.items() if not any(word in key for word in BESIDES)))


def predict(program, path, gpu, gpus):
    command = [program, "predict", path, "--cluster", CLUSTERS[gpu], "--gpus", str(gpus), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if done.returncode not in (0, 2):
        sys.exit(f"{path}: status {done.returncode}: {done.stderr}")
    if done.returncode == 2:
        return None, done.stderr.strip().splitlines()[-1]
    answer = json.loads(done.stdout)
    apart = [line for line in answer["assumed"] if line.endswith("changes memory and is not modelled")]
    return (answer["stages"][-1]["allocated_bytes"], answer["typical_s"], apart), None


def results_of(program, folder):
    sets = defaultdict(list)
    with open(os.path.join(folder, "goldens.csv"), newline="") as file:
        for row in csv.DictReader(file):
            sets[row["args"], row["gpu"], row["nodes"], row["gpus_per_node"]].append(row)
    results, refused, apart = [], defaultdict(int), defaultdict(int)
    for (args, gpu, _, _), rows in sets.items():
        path = os.path.join(folder, args)
        flags = flags_of(path)
        predicted, why = predict(program, path, gpu, gpus_of(rows[0], flags))
        if predicted is None:
            refused[why.split(": error: ")[-1]] += len(rows)
            continue
        for line in predicted[2]:
            apart[line] += len(rows)
        measured = statistics.median_low(int(row["mem_max_allocated_bytes"]) for row in rows)
        seconds = statistics.median_low(float(row["iteration_min_s"]) for row in rows)
        results.append({
            "name": f"{os.path.basename(args)[:-5]} {gpu}", "rows": len(rows), "run": same_run(flags, gpu), "step": seconds, "class": class_of(flags),
            "slow": "--deterministic-mode" in flags, "large": measured >= GIB, "apart": bool(predicted[2]), "measured": measured,
            "predicted": predicted[0], "bytes": predicted[0] / measured - 1, "seconds": predicted[1] / seconds - 1})
    return results, refused, apart


def line(label, some, key):
    errors = sorted(some, key=lambda result: abs(result[key]))
    if not errors:
        return None
    median = statistics.median(abs(result[key]) for result in some)
    bias = statistics.median(result[key] for result in some)
    worst = errors[-1]
    print(f"{label:34} {len(some):4} {median:7.1%} {bias:+8.1%} {worst[key]:+8.1%}  {worst['name']}")
    return median


def main():
    program, folder = sys.argv[1], os.path.join(sys.argv[2], "megatron-golden")
    if not os.path.exists(os.path.join(folder, "goldens.csv")):
        print(f"skipped: no {folder}/goldens.csv")
        sys.exit(77)
    results, refused, apart = results_of(program, folder)
    if "--rows" in sys.argv:
        for result in sorted(results, key=lambda result: result["bytes"]):
            print(f"{result['bytes']:+7.1%} {result['seconds']:+7.1%} {result['predicted'] / 1e6:9.1f} {result['measured'] / 1e6:9.1f} "
                  f"{result['class']:8}{' deterministic' if result['slow'] else ' ':15}{result['name']}")
    faults = []
    print(f"{'peak bytes':34} sets  median     bias    worst")
    for kind, aim in AIMS.items():
        some = [result for result in results if result["class"] == kind and not result["apart"]]
        median = line(f"{kind}, 1 GiB and more", [result for result in some if result["large"]], "bytes")
        line(f"{kind}, below 1 GiB", [result for result in some if not result["large"]], "bytes")
        if median is not None and median > aim:
            faults.append(f"peak bytes, {kind}: median {median:.1%}, expected at most {aim:.0%}")
    print(f"{'seconds':34} sets  median     bias    worst")
    for kind in AIMS:
        some = [result for result in results if result["class"] == kind]
        line(f"{kind}, deterministic", [result for result in some if result["slow"]], "seconds")
        line(f"{kind}, not", [result for result in some if not result["slow"]], "seconds")
    runs = defaultdict(list)
    for result in results:
        runs[result["run"]].append(result["step"])
    factors = sorted(max(steps) / min(steps) for steps in runs.values() if len(steps) > 1)
    if factors:
        print(f"{'seconds among themselves':34} {len(factors):4} a factor of {statistics.median(factors):.1f} in the median, "
              f"{factors[-1]:.1f} at most")
    for why, count in sorted(apart.items()):
        print(f"bytes set apart ({count} rows): {why}")
    for why, count in sorted(refused.items()):
        print(f"refused ({count} rows): {why}")
    for fault in faults:
        print(fault)
    print(f"megatron_golden: {len(results)} sets of {sum(result['rows'] for result in results)} rows, {len(faults)} faults")
    sys.exit(1 if faults else 0)


main()
