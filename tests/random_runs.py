"""Random runs as RUN.yaml texts, for tests/same_answers: drawn as src/predict/any_run.h draws them, from more
presets and with every schedule. What is drawn obeys the rules of docs/formats/run.md by itself, without asking a
program, so that builds of different age get the same runs."""

import random

MODELS = {  # name: layers, heads, key-value heads, sequence
    "gpt2": (12, 12, 12, 1024),
    "gpt3-175b": (96, 96, 96, 2048),
    "llama-2-7b": (32, 32, 32, 4096),
    "llama-3-8b": (32, 32, 8, 8192),
    "llama-3-405b": (126, 128, 8, 8192),
    "mistral-7b": (32, 32, 8, 8192),
    "mpt-7b": (32, 32, 32, 2048),
    "pythia-1.4b": (24, 16, 16, 2048),
    "qwen2.5-1.5b": (28, 12, 2, 4096),
}
CLUSTERS = {  # name: GPUs a node
    "dgx-b200": 8,
    "dgx-h100": 8,
    "dgxc-gb200": 4,
    "mosaic-a100-40": 8,
    "nebius-h200": 8,
    "perlmutter": 4,
    "selene": 8,
    "vista": 1,
}
STACKS = ["generic", "hf-compile", "hf-eager", "llm-foundry", "megatron", "nanotron", "neox", "torchtitan",
          "torchtitan-compile"]
SCHEDULES = ["gpipe", "1f1b", "interleaved", "zb-h1", "zb-h2", "zbv", "dualpipe", "dualpipev"]
SPLIT_IN_A_V = {"zbv", "dualpipe", "dualpipev"}
WITH_CONTEXT = ["generic", "megatron", "torchtitan"]  # divide sequences by rings or gathers, whatever the heads
OPTIMIZERS = ["adamw", "adamw_bf16", "adamw_8bit", "muon"]


def layers_per_stage(draw, layers, stages):
    dealt = []
    for left in range(stages, 1, -1):
        dealt.append(draw.randint(0, min(layers, 2 * layers // left)))
        layers -= dealt[-1]
    return dealt + [layers]


def degrees(draw, heads, kv_heads, gpus_per_node):
    """tp, pp and dp that the model's heads and the cluster's nodes allow."""
    while True:
        tp = draw.choice([1, 2, 4, 8])
        pp = draw.choice([1, 2, 3, 4, 8])
        dp = draw.choice([1, 2, 3, 4, 16])
        gpus = tp * pp * dp
        if heads % tp or (kv_heads % tp and tp % kv_heads):
            continue
        if gpus <= gpus_per_node or gpus % gpus_per_node == 0:
            return tp, pp, dp


def micro_batches(draw, schedule, pp):
    """As few as 1, but as many and as even as the schedule asks for."""
    count = draw.randint(1, 23)
    if pp == 1 or schedule in ("gpipe", "1f1b", "zb-h1", "zbv"):
        return count
    return 2 * pp * draw.randint(1, 3)


def plan_of(draw, model, gpus_per_node):
    layers, heads, kv_heads, _ = MODELS[model]
    schedule = draw.choice(SCHEDULES)
    while True:
        tp, pp, dp = degrees(draw, heads, kv_heads, gpus_per_node)
        vpp = draw.randint(1, 3) if schedule == "interleaved" and pp > 1 else 1
        chunks = pp * (2 if schedule in SPLIT_IN_A_V else vpp)
        if chunks <= layers + 2 and not (schedule == "dualpipe" and pp > 1 and pp % 2):
            break
    plan = {"tp": tp, "pp": pp, "dp": dp, "schedule": schedule, "vpp": vpp}
    plan["sp"] = tp > 1 and draw.random() < 0.5
    plan["zero"] = draw.randint(0, 3)
    if plan["zero"] and dp % 2 == 0 and draw.random() < 0.5:
        plan["shard"] = 2
    plan["micro_batch"] = draw.choice([1, 2, 8])
    plan["recompute"] = draw.choice(["none", "selective", "full"])
    if plan["recompute"] == "full" and draw.random() < 0.25:
        plan["recompute_layers"] = draw.randint(1, 7)
    plan["precision"] = draw.choice(["bf16", "fp16"])
    plan["offload"] = draw.random() < 0.25
    plan["optimizer"] = draw.choice(OPTIMIZERS)
    left_to_the_stack = {
        "attention": ["flash", "flash", "unfused"],
        "grad_dtype": ["fp32", "bf16"],
        "reduce_dtype": ["fp32", "bf16"],
        "master_weights": [True, False],
        "sp_gather_again": [True, False],
        "overlap_grad_reduce": [True, False],
        "overlap_param_gather": [True, False],
        "partition_activations": [True, False],
    }
    for key, values in left_to_the_stack.items():
        value = draw.choice(values)
        if draw.random() < 0.5:
            plan[key] = value
    if draw.random() < 0.25:
        plan["layers_per_stage"] = layers_per_stage(draw, layers, pp)
    return plan


def word(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return "[" + ", ".join(map(str, value)) + "]"
    return str(value)


def run_text(draw):
    model = draw.choice(list(MODELS))
    cluster = draw.choice(list(CLUSTERS))
    plan = plan_of(draw, model, CLUSTERS[cluster])
    count = micro_batches(draw, plan["schedule"], plan["pp"])
    keys = {
        "model": model,
        "cluster": cluster,
        "gpus": plan["tp"] * plan["pp"] * plan["dp"],
        "seq": draw.choice([512, MODELS[model][3]]),
        "global_batch": plan["dp"] * plan["micro_batch"] * count,
        "stack": draw.choice(STACKS),
    }
    if draw.random() < 0.2:
        keys["profile"] = "analytic"
    gpus, per_node = 2 * keys["gpus"], CLUSTERS[cluster]
    fits_nodes = gpus <= per_node or gpus % per_node == 0
    if keys["stack"] in WITH_CONTEXT and plan.get("attention") != "unfused" and fits_nodes and draw.random() < 0.3:
        plan["cp"] = 2
        keys["gpus"] = gpus
    lines = [f"{key}: {word(value)}" for key, value in keys.items()]
    choices = ", ".join(f"{key}: {word(value)}" for key, value in plan.items())
    return "\n".join(lines) + f"\nplan: {{{choices}}}\n"


def random_runs(count):
    """The same texts every time."""
    draw = random.Random(1)
    return [run_text(draw) for _ in range(count)]
