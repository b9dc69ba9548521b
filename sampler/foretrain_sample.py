#!/usr/bin/env python3
"""Time the operators of LLM training on one GPU, for `foretrain fit`.

    python foretrain_sample.py --minutes 10 -o samples/
    foretrain fit samples/ --gpu h200-141gb-sxm -o my-profile

One file; it needs PyTorch and a CUDA GPU. A second run with the same folder goes on where the first ended.
With torchrun and --collectives it times collectives between GPUs instead.

How a sample is taken
  A GPU that rests between samples runs products at a clock that it cannot hold in training: under steady load
  the power limit lowers it. So the GPU never rests here. A product (linear, attention, of experts) is timed in
  a loop of itself; every other operator in a loop in which products take a fixed share of the time (--share).
  Now and then a product's loop is kept up for over a second, until its clock has settled (column loop_s), and
  once more with memory-bound work between (folder mixed/): the pair says how much of a product's time follows
  the clock, and what clock a mix of work is left with.
  Operands and gradients are random (zeros draw less power), and rotate through more memory than the L2 holds.
  `us` is the median over several batches between CUDA events (of a settled loop the mean, like its clock),
  enqueued ahead of the GPU so that no launch is waited for; `host_us` is what the host needs to enqueue one
  call, taken apart with an empty queue.
  The SM clock is measured by a kernel that spins for a known number of cycles, or read from NVML.

How shapes are chosen
  Each operator walks a scrambled Halton sequence over realistic shapes, so that any beginning of it covers
  the space. Every third shape is instead the one of the next few that a nearest-neighbour model of what has
  been timed so far is least sure of. Shapes that do not fit in memory are skipped and noted (skipped.txt), and
  so are passes whose times scatter.

Files of the folder: operators.csv and mixed/operators.csv (format: docs/formats/samples.md of Foretrain),
collectives.csv (docs/formats/collective-samples.md), sessions.jsonl (software and GPU of each run), skipped.txt,
launches.json (--launches).
"""

import argparse
import ctypes
import functools
import json
import math
import os
import random
import statistics
import sys
import time
import types
import warnings
from statistics import median

DTYPE_NAMES = ("bf16", "fp16")


class Parser(argparse.ArgumentParser):
    def error(self, message):
        sys.stderr.write(f"foretrain_sample: error: {message}\n")
        sys.exit(2)


def command_line():
    """What can be asked; help tells it where there is no PyTorch too."""
    parser = Parser(prog="foretrain_sample.py", description="Time the operators of LLM training on one GPU, for "
                    "`foretrain fit`. A second run with the same folder goes on where the first ended.")
    parser.add_argument("--minutes", type=float, default=10, metavar="N", help="time to spend (default 10)")
    parser.add_argument("-o", "--output", metavar="FOLDER", help="where the samples go (made if need be)")
    parser.add_argument("--operators", metavar="A,B", help="only these operators (see --list)")
    parser.add_argument("--dtype", choices=DTYPE_NAMES, default="bf16", help="of operands (default bf16)")
    parser.add_argument("--seed", type=int, default=1, help="of the order of shapes (default 1)")
    parser.add_argument("--share", type=float, default=0.7, metavar="S",
                        help="share of time in products around memory-bound operators (default 0.7)")
    parser.add_argument("--resume", action=argparse.BooleanOptionalAction, default=True,
                        help="go on with the samples of the folder (default); --no-resume refuses such a folder")
    parser.add_argument("--compile", action="store_true", help="add kernels that torch.compile makes (slow: anew for each shape)")
    parser.add_argument("--launches", action="store_true",
                        help="only count the kernels of each operator on one shape, into launches.json")
    parser.add_argument("--collectives", action="store_true", help="time collectives; start it with torchrun")
    parser.add_argument("--formats", metavar="F,G", default="",
                        help="only operators in these number formats, of those that have one of their own: fp8, "
                             "fp8-row, fp8-block, fp32")
    parser.add_argument("--list", action="store_true", help="say what would be sampled, and end")
    parser.add_argument("--device", default="cuda", metavar="D",
                        help="cuda, cuda:1, or cpu (with --tiny) for a trial")
    parser.add_argument("--tiny", action="store_true", help="shapes of a few elements, for tests")
    return parser


try:
    import torch
    import torch.nn.functional as F
except ImportError:
    if __name__ == "__main__":
        command_line().parse_args()
    sys.exit("foretrain_sample: error: PyTorch is missing: run this with a Python that has torch")

COLUMNS = ("operator", "impl", "pass", "dtype", "dims", "us", "spread", "host_us", "launches", "clock",
           "power", "limit", "throttle", "share", "loop_s", "group")
COLLECTIVE_COLUMNS = ("collective", "bytes", "ranks", "ranks_per_node", "us", "spread", "algorithm", "protocol",
                      "source")
MIXED_SHARES = (0.6, 0.3)  # of time in a product, where it is sampled a second time
SETTLED_EVERY = 18  # shapes of a product, of which one is timed until its clock has settled
DTYPES = dict(zip(DTYPE_NAMES, (torch.bfloat16, torch.float16)))


class BadInput(Exception):
    """What the caller has to change; exit status 2."""


# ---------------------------------------------------------------------------------------------------------
# Shapes
# ---------------------------------------------------------------------------------------------------------

def halton(index, dimensions, seed):
    """Point `index` of a Halton sequence in [0, 1)^dimensions, digits permuted by the seed."""
    point = []
    for base in (2, 3, 5, 7, 11, 13, 17, 19)[:dimensions]:
        digits = list(range(base))
        random.Random(seed * 1009 + base).shuffle(digits)
        n, value, scale = index + 1, 0.0, 1.0 / base
        while scale > 1e-9:  # zeros in front are digits too: permuted, they are no longer nothing
            value += digits[n % base] * scale
            n, scale = n // base, scale / base
        point.append(min(value, 1 - 1e-9))
    return point


def log_between(u, low, high):
    return low * (high / low) ** u


def rounded(value, step, least=None):
    return max(least or step, int(value / step + 0.5) * step)


def pick(u, items):
    return items[min(len(items) - 1, int(u * len(items)))]


def fraction(u, parts):
    """A second independent number from the digits of `u` that picking one of `parts` did not use."""
    return u * parts % 1


USUAL_HIDDEN = (512, 768, 1024, 1280, 1536, 1600, 2048, 2560, 3072, 3584, 4096, 5120, 6144, 6656, 7168, 8192,
                9216, 10240, 12288, 14336, 16384, 18432)
USUAL_VOCAB = (32000, 32768, 49152, 50257, 50304, 64000, 100352, 128256, 151936, 152064, 202048, 256000, 262144)
HEAD_DIMS = (64, 80, 96, 112, 128, 192, 256)
UNEVEN_HEAD_DIMS = (36, 50, 75, 90, 100, 108, 150)  # rows that are no multiple of 16 bytes: another class of kernels


class Limits:
    """How large a shape may be: of elements, of floating-point operations. Tests make it tiny."""

    def __init__(self, tiny):
        self.tiny = tiny
        self.elements = 2 ** 13 if tiny else 2 ** 29
        self.logits = 2 ** 13 if tiny else 1.1e9
        self.flops = 1e7 if tiny else 9e12
        self.parameters = (1e2, 1e4) if tiny else (1e6, 3.2e9)
        self.tokens = (8, 64) if tiny else (512, 65536)
        self.hidden = (16, 128) if tiny else (512, 18432)
        self.vocab = (64, 512) if tiny else (32000, 262144)
        self.seq = (8, 64) if tiny else (256, 32768)

    def size(self, u, low, high):
        """Mostly multiples of 64; one in eight a multiple of 8, as many of 2, and odd ones."""
        value, kind = log_between(fraction(u, 8), low, high), int(u * 8)
        step = 8 if self.tiny else (64, 128, 64, 64, 128, 8, 2, 1)[kind]
        size = rounded(value, step)
        return size + (1 if step == 1 and size % 2 == 0 else 0)

    def aligned(self, u, low, high):
        return rounded(log_between(u, low, high), 8 if self.tiny else 64)

    def tokens_of(self, u, high=None):
        high = max(self.tokens[0], min(self.tokens[1], high or self.tokens[1]))
        # Not by fraction(): four neighbours of the sequence differ in the first digits alone where its base is 2.
        step = 8 if self.tiny else pick(u * 1021 % 1, (128, 128, 128, 1))
        return rounded(log_between(u, self.tokens[0], high), step, self.tokens[0])

    def hidden_of(self, u):
        if self.tiny or u < 0.5:
            return self.aligned(fraction(u, 2), *self.hidden)
        return pick(fraction(u, 2), USUAL_HIDDEN)

    def vocab_of(self, u):
        if self.tiny or u < 0.25:
            return self.aligned(fraction(u, 4), *self.vocab)
        return pick((u - 0.25) / 0.75, USUAL_VOCAB)


def draw_linear(u, limits):
    """Half of them free in m, k and n; half the products of a transformer layer and its head, with a tp share."""
    m = limits.tokens_of(u[0])
    if u[1] < 0.5:
        k = limits.size(fraction(u[1], 2), *limits.hidden)
        n = limits.size(u[2], *limits.hidden)
    else:
        hidden, tp = limits.hidden_of(u[2]), pick(u[3], (1, 1, 1, 2, 4, 8))
        ffn = rounded(hidden * pick(u[4], (8 / 3, 3.5, 4, 4)), 64)
        kv = hidden // pick(fraction(u[4], 4), (1, 4, 8))
        role = pick(fraction(u[1], 2), ("qkv", "square", "kv", "up", "up", "gate_up", "down", "down", "head"))
        k, n = {"qkv": (hidden, (hidden + 2 * kv) // tp), "square": (hidden // tp, hidden),
                "kv": (hidden, kv // tp), "up": (hidden, ffn // tp), "gate_up": (hidden, 2 * ffn // tp),
                "down": (ffn // tp, hidden), "head": (hidden, limits.vocab_of(fraction(u[3], 6)) // tp)}[role]
        k, n = max(k, 8), max(n, 8)
    most = limits.flops / (1 if k % 8 == 0 and n % 8 == 0 else 6)  # rows that no fast kernel can load
    too_many = 2.0 * m * k * n / most
    if too_many > 1:
        m = max(limits.tokens[0], int(m / too_many) // 64 * 64)
    if 2.0 * m * k * n > most or k * n > 4 * limits.elements:
        return None
    return {"m": m, "k": k, "n": n}


def draw_router(u, limits):
    """Logits of experts: a narrow product."""
    k = min(limits.hidden_of(u[1]), 8192)
    return {"m": limits.tokens_of(u[0], limits.elements // k), "k": k, "n": pick(u[2], (8, 16, 32, 64, 128, 160, 256, 384))}


def head_dim_drawn(u, uneven):
    return pick(u, UNEVEN_HEAD_DIMS if uneven < 0.125 else HEAD_DIMS)


def draw_batched(u, limits):
    """The two products of unfused attention, over batch times heads."""
    seq = rounded(log_between(u[0], limits.seq[0], min(limits.seq[1], 8192)), 8 if limits.tiny else 128)
    head = head_dim_drawn(u[1], u[4])
    batch = max(1, int(log_between(u[2], 1, 512)))
    batch = max(1, min(batch, int(limits.elements // (seq * max(seq, head)))))
    if batch * seq * seq > 2 * limits.elements:
        return None
    return {"batch": batch, "m": seq, "k": head, "n": seq} if u[3] < 0.5 else \
           {"batch": batch, "m": seq, "k": seq, "n": head}


def draw_attention(u, limits):
    seq = log_between(u[0], *limits.seq)
    seq = rounded(seq, 8 if limits.tiny else pick(u[1], (128, 128, 128, 128, 128, 1)))
    head_dim = head_dim_drawn(u[2], fraction(u[1], 6))
    heads = pick(u[3], (4, 5, 8, 12, 16, 20, 24, 25, 32, 40, 48, 64, 96, 128))
    groups = [g for g in (1, 1, 2, 4, 5, 8, heads) if heads % g == 0]
    group = pick(u[4], groups)
    batch = max(1, round(log_between(u[5], limits.tokens[0], limits.tokens[1]) / seq))
    most = limits.flops / 1.5 / (2.0 * heads * seq * seq * head_dim)
    batch = min(batch, int(most), int(limits.elements // (seq * heads * head_dim)))
    if batch < 1:
        return None
    return {"batch": batch, "heads": heads, "kv_heads": heads // group, "seq": seq, "head_dim": head_dim,
            "causal": 1}


def draw_latent(u, limits):
    """Attention whose values are narrower than queries and keys, as a latent cache leaves them (DeepSeek-V2's MLA)."""
    seq = rounded(log_between(u[0], *limits.seq), 8 if limits.tiny else pick(u[1], (128, 128, 128, 128, 128, 1)))
    qk_dim, v_dim = pick(u[2], ((192, 128), (192, 128), (192, 128), (192, 128), (96, 64), (128, 64), (160, 128)))
    heads = pick(u[3], (4, 8, 16, 16, 20, 32, 40, 64, 128))
    batch = max(1, round(log_between(u[4], limits.tokens[0], limits.tokens[1]) / seq))
    most = limits.flops / 1.5 / (heads * seq * seq * (qk_dim + v_dim))
    batch = min(batch, int(most), int(limits.elements // (seq * heads * qk_dim)))
    if batch < 1:
        return None
    return {"batch": batch, "heads": heads, "seq": seq, "qk_dim": qk_dim, "v_dim": v_dim}


def draw_experts(u, limits):
    """Rows of all experts of a GPU, and one of the products of a gated MLP."""
    experts = pick(u[0], (2, 4, 8, 8, 16, 32, 64, 128))
    hidden = min(limits.hidden_of(u[1]), 8192)
    ffn = limits.aligned(u[2], limits.hidden[0], min(limits.hidden[1], 16384))
    k, n = pick(u[3], ((hidden, ffn), (hidden, 2 * ffn), (ffn, hidden)))
    rows = limits.tokens_of(u[4]) * pick(u[5], (1, 2, 2, 4))
    rows = min(rows, int(limits.flops / (2.0 * k * n)) // 64 * 64, int(limits.elements // max(k, n)) * 2)
    if rows < min(experts, limits.tokens[0]) or experts * k * n > 4 * limits.elements:
        return None
    return {"experts": experts, "m": rows, "k": k, "n": n}


def draw_routed(u, limits):
    top_k, width = pick(u[2], (1, 2, 2, 4, 6, 8, 8)), min(limits.hidden_of(u[1]), 8192)
    return {"tokens": limits.tokens_of(u[0], limits.elements // (width * top_k)), "width": width, "top_k": top_k}


def draw_route(u, limits):
    experts = pick(u[1], (8, 16, 32, 60, 64, 128, 256))
    return {"tokens": limits.tokens_of(u[0]), "experts": experts, "top_k": pick(u[2], (1, 2, 4, 6, 8))}


def draw_rows(u, limits):
    """Scores of unfused attention: batch * heads * seq rows of seq columns."""
    columns = rounded(log_between(u[0], limits.seq[0], min(limits.seq[1], 16384)), 8 if limits.tiny else 64)
    rows = columns * max(1, int(log_between(u[1], 1, 512)))
    rows = min(rows, max(columns, int(limits.elements // columns) // columns * columns))
    return {"rows": rows, "columns": columns}


def draw_pointwise(u, limits):
    width = limits.hidden_of(u[1])
    return {"tokens": limits.tokens_of(u[0], limits.elements // width), "width": width}


def draw_wide(u, limits):
    """As wide as the inside of an MLP."""
    width = rounded(limits.hidden_of(u[1]) * pick(u[2], (1, 8 / 3, 3.5, 4)) / pick(u[3], (1, 1, 2, 4, 8)), 64)
    return {"tokens": limits.tokens_of(u[0], limits.elements // width), "width": width}


def draw_heads(u, limits):
    """Queries and keys of rotary embedding: all their heads side by side."""
    head_dim = pick(u[1], (64, 64, 80, 96, 128, 128, 128, 256))
    heads = pick(u[2], (4, 8, 12, 16, 24, 32, 40, 64))
    kv_heads = heads // pick(u[3], [g for g in (1, 4, 8) if heads % g == 0])
    width = (heads + kv_heads) * head_dim
    return {"tokens": limits.tokens_of(u[0], limits.elements // 2 // width), "width": width}


def draw_scores(u, limits):
    """A mask is one for many heads: at least two of them, else a kernel runs that no model does."""
    dims = draw_rows(u, limits)
    return {"tokens": max(dims["rows"], 2 * dims["columns"]), "width": dims["columns"]}


def draw_embedding(u, limits):
    width, vocab = limits.hidden_of(u[1]), limits.vocab_of(u[2])
    if width * vocab > 4 * limits.elements:
        return None
    return {"tokens": limits.tokens_of(u[0], limits.elements // width), "width": width, "vocab": vocab}


def draw_logits(u, limits):
    vocab = limits.vocab_of(u[1])
    vocab //= pick(u[2], (1, 1, 1, 1, 2, 8))  # vocabularies split by tp
    return {"tokens": limits.tokens_of(u[0], limits.logits // vocab), "vocab": vocab}


def draw_gradient(u, limits):
    k, n = limits.aligned(u[0], *limits.hidden), limits.aligned(u[1], *limits.hidden)
    return {"k": k, "n": n, "grad_bytes": pick(u[2], (4, 4, 2))}


def draw_states(u, limits):
    """Tensors of one size; one in five is not a multiple of four, which takes kernels off their fast path."""
    tensors = max(1, round(log_between(u[1], 1, 500)))
    each = log_between(u[0], *limits.parameters) / tensors
    each = rounded(each, 64) if u[2] < 0.8 else rounded(each, 2) + 1
    return {"parameters": each * tensors, "tensors": tensors}


# ---------------------------------------------------------------------------------------------------------
# Operands
# ---------------------------------------------------------------------------------------------------------

class Operands:
    """Random operands as views of a large random buffer: nothing is drawn or copied for a sample."""

    def __init__(self, device, dtype, memory):
        self.device, self.dtype = device, dtype
        self.bytes = 0  # given out since the last reset
        self._pools = {}
        self._next = {}
        self._pool_bytes = memory // 8

    def of(self, *shape, dtype=None, grad=False):
        dtype = dtype or self.dtype
        count = math.prod(shape)
        size = torch.empty((), dtype=dtype).element_size()
        self.bytes += count * size
        pool = self._pool(dtype, size)
        if count > pool.numel():
            tensor = self.fresh(*shape, dtype=dtype)
        else:
            start = self._next[dtype]
            if start + count > pool.numel():
                start = 0
            self._next[dtype] = -(-(start + count) // 512) * 512
            tensor = pool[start:start + count].view(*shape)
        return tensor.detach().requires_grad_() if grad else tensor

    def fresh(self, *shape, dtype=None):
        """Random, with memory of its own: for what an operator writes in place."""
        return torch.empty(*shape, dtype=dtype or self.dtype, device=self.device).normal_()

    def tokens(self, count, vocab):
        return torch.randint(vocab, (count,), device=self.device)

    def _pool(self, dtype, size):
        if dtype not in self._pools:
            count = int(self._pool_bytes // size) // (1 if dtype == self.dtype else 2)
            pool = torch.empty(count, dtype=dtype, device=self.device)
            if size > 1:
                pool.normal_()
            else:  # of eight bits nothing is drawn: as a scale leaves it, the largest near the end of the range
                scale = torch.finfo(dtype).max / 5
                for part in pool.split(2 ** 28):
                    part.copy_(torch.randn(len(part), dtype=torch.bfloat16, device=self.device) * scale)
            self._pools[dtype] = pool
            self._next[dtype] = 0
        return self._pools[dtype]


# ---------------------------------------------------------------------------------------------------------
# Operators
# ---------------------------------------------------------------------------------------------------------

class Family:
    """An operator in one implementation: what shapes it has and how its passes are run.

    build(operands, dims) returns {pass: call without arguments} on one set of operands; the first time in a run
    that may take `start_s` longer. `dtype` is a format of its own, whatever the run's."""

    def __init__(self, operator, impl, weight, draw, build, product, needs, start_s=0.0, dtype=""):
        self.operator, self.impl, self.weight = operator, impl, weight
        self.draw, self.build, self.product, self.needs = draw, build, product, needs
        self.start_s, self.dtype = start_s, dtype
        self.name = f"{operator} {impl} {dtype}".strip()

    def missing(self):
        """Why it cannot run here, or nothing."""
        return self.needs() if self.needs else ""


FAMILIES = []


def operator(name, impl, weight, draw, product=False, needs=None, start_s=0.0, dtype=""):
    def register(build):
        FAMILIES.append(Family(name, impl, weight, draw, build, product, needs, start_s, dtype))
        return build
    return register


def module_missing(name):
    def needs():
        try:
            __import__(name)
            return ""
        except Exception as error:  # a broken installation is as good as none
            return f"{name} cannot be imported ({type(error).__name__})"
    return needs


def function_missing(owner, name):
    return lambda: "" if hasattr(owner, name) else f"PyTorch {torch.__version__} has no {name}"


def forward_and_backward(function, inputs, gradients):
    """The two passes of a function as autograd runs them, on random gradients."""
    outputs = function()
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    return {"fwd": lambda: function(),
            "bwd": lambda: torch.autograd.grad(outputs, inputs, gradients, retain_graph=True)}


@operator("linear", "aten", 55, draw_linear, product=True)
def linear(o, d):
    x, w, dy = o.of(d["m"], d["k"]), o.of(d["n"], d["k"]), o.of(d["m"], d["n"])
    return {"fwd": lambda: F.linear(x, w), "dgrad": lambda: torch.matmul(dy, w),
            "wgrad": lambda: torch.matmul(dy.t(), x)}


# On the CUDA cores, far below the power limit: timed between other products, as what is no product is.
@operator("linear", "aten", 6, draw_router, dtype="fp32")
def router_product(o, d):  # the router of DeepSeek-V3 and of those after it
    x, w, dy = (o.of(*shape, dtype=torch.float32) for shape in
                ((d["m"], d["k"]), (d["n"], d["k"]), (d["m"], d["n"])))
    return {"fwd": lambda: F.linear(x, w), "dgrad": lambda: torch.matmul(dy, w),
            "wgrad": lambda: torch.matmul(dy.t(), x)}


@operator("linear", "fused", 4, draw_linear, product=True)
def linear_with_bias(o, d):  # the bias in the product's epilogue; its gradient is `bias bwd`
    x, w, b = o.of(d["m"], d["k"]), o.of(d["n"], d["k"]), o.of(d["n"])
    return {"fwd": lambda: F.linear(x, w, b)}


@operator("batched_product", "aten", 5, draw_batched, product=True)
def batched_product(o, d):
    x, y = o.of(d["batch"], d["m"], d["k"], grad=True), o.of(d["batch"], d["k"], d["n"], grad=True)
    return forward_and_backward(lambda: torch.bmm(x, y), (x, y), (o.of(d["batch"], d["m"], d["n"]),))


def heads_first(o, d, heads, head_dim):
    """What a projection leaves: [batch, seq, heads, head_dim], seen as [batch, heads, seq, head_dim]."""
    tensor = o.of(d["batch"], d["seq"], heads, head_dim).transpose(1, 2)
    return tensor.detach().requires_grad_()


def choose_sdpa(flash_only):
    if hasattr(torch.backends.cuda, "enable_cudnn_sdp"):  # no context around a call: it would cost host time
        torch.backends.cuda.enable_cudnn_sdp(not flash_only)
    if torch.cuda.is_available():
        torch.backends.cuda.enable_mem_efficient_sdp(not flash_only)
        torch.backends.cuda.enable_math_sdp(not flash_only)


def sdpa(o, d, flash_only):
    choose_sdpa(flash_only)
    q, k, v = (heads_first(o, d, h, d["head_dim"]) for h in (d["heads"], d["kv_heads"], d["kv_heads"]))
    dy = o.of(d["batch"], d["seq"], d["heads"], d["head_dim"]).transpose(1, 2)
    more = {"enable_gqa": True} if d["heads"] != d["kv_heads"] else {}

    return forward_and_backward(lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True, **more),
                                (q, k, v), (dy,))


@operator("attention", "sdpa", 20, draw_attention, product=True,
          needs=function_missing(F, "scaled_dot_product_attention"))
def attention_sdpa(o, d):  # what PyTorch finds best: cuDNN on Hopper and later
    return sdpa(o, d, flash_only=False)


@operator("latent_attention", "sdpa", 6, draw_latent, product=True,
          needs=function_missing(F, "scaled_dot_product_attention"))
def latent_attention(o, d):
    choose_sdpa(flash_only=False)
    q, k, v = (heads_first(o, d, d["heads"], width) for width in (d["qk_dim"], d["qk_dim"], d["v_dim"]))
    dy = o.of(d["batch"], d["seq"], d["heads"], d["v_dim"]).transpose(1, 2)
    return forward_and_backward(lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True), (q, k, v), (dy,))


def draw_masked(u, limits):
    dims = draw_attention(u, limits)
    return dims and dict(dims, kv_heads=dims["heads"], causal=0)


@operator("attention", "masked", 6, draw_masked, product=True,
          needs=function_missing(F, "scaled_dot_product_attention"))
def attention_masked(o, d):
    """Hugging Face transformers 5 under torch.compile: the causal mask is a tensor, which no kernel may skip blocks
    by, and keys and values are repeated for every head of queries before."""
    choose_sdpa(flash_only=False)
    q, k, v = (heads_first(o, d, d["heads"], d["head_dim"]) for _ in range(3))
    dy = o.of(d["batch"], d["seq"], d["heads"], d["head_dim"]).transpose(1, 2)
    mask = torch.ones(d["seq"], d["seq"], dtype=torch.bool, device=o.device).tril()
    mask = mask.expand(d["batch"], 1, d["seq"], d["seq"])
    return forward_and_backward(lambda: F.scaled_dot_product_attention(q, k, v, attn_mask=mask), (q, k, v), (dy,))


def flash_missing():
    if not module_missing("flash_attn")():
        return ""
    missing = function_missing(F, "scaled_dot_product_attention")()
    return missing or ("" if torch.cuda.is_available() else "flash attention needs a GPU")


@operator("attention", "flash", 5, draw_attention, product=True, needs=flash_missing)
def attention_flash(o, d):
    if not module_missing("flash_attn")():
        from flash_attn import flash_attn_func
        q, k, v = (o.of(d["batch"], d["seq"], h, d["head_dim"], grad=True)
                   for h in (d["heads"], d["kv_heads"], d["kv_heads"]))
        dy = o.of(d["batch"], d["seq"], d["heads"], d["head_dim"])
        return forward_and_backward(lambda: flash_attn_func(q, k, v, causal=True), (q, k, v), (dy,))
    return sdpa(o, d, flash_only=True)


@operator("softmax", "eager", 4, draw_rows)
def softmax_eager(o, d):  # Hugging Face: scale, add the mask, softmax in fp32, back
    x = o.of(d["rows"], d["columns"], grad=True)
    mask = o.of(d["columns"], d["columns"])
    repeats = d["rows"] // d["columns"]

    def function():
        scores = (x * 0.125).view(repeats, d["columns"], d["columns"]) + mask
        return F.softmax(scores, dim=-1, dtype=torch.float32).to(x.dtype)
    return forward_and_backward(function, (x,), (o.of(repeats, d["columns"], d["columns"]),))


@operator("softmax", "aten", 4, draw_rows)
def softmax_aten(o, d):
    x = o.of(d["rows"], d["columns"], grad=True)
    return forward_and_backward(lambda: F.softmax(x, dim=-1), (x,), (o.of(d["rows"], d["columns"]),))


def scaled_masked_softmax():
    return module_missing("scaled_upper_triang_masked_softmax_cuda")()  # built with apex and Megatron


@operator("softmax", "fused", 3, draw_rows, needs=scaled_masked_softmax)
def softmax_fused(o, d):
    import scaled_upper_triang_masked_softmax_cuda as kernels
    x, dy = (o.of(d["rows"] // d["columns"], d["columns"], d["columns"]) for _ in range(2))
    y = kernels.forward(x, 0.125)
    return {"fwd": lambda: kernels.forward(x, 0.125), "bwd": lambda: kernels.backward(dy.clone(), y, 0.125)}


@operator("masked_fill", "aten", 2.5, draw_scores)
def masked_fill(o, d):
    repeats, columns = d["tokens"] // d["width"], d["width"]
    x, dy = o.fresh(repeats, columns, columns), o.of(repeats, columns, columns)
    o.bytes += x.numel() * x.element_size()
    mask = torch.ones(columns, columns, dtype=torch.bool, device=x.device).triu(1)
    return {"fwd": lambda: x.masked_fill_(mask, -10000.0), "bwd": lambda: dy.masked_fill(mask, 0)}


@operator("layernorm", "fused", 4, draw_pointwise)
def layernorm(o, d):
    x, w, b = o.of(d["tokens"], d["width"], grad=True), o.of(d["width"], grad=True), o.of(d["width"], grad=True)
    return forward_and_backward(lambda: F.layer_norm(x, (d["width"],), w, b), (x, w, b),
                                (o.of(d["tokens"], d["width"]),))


@operator("layernorm", "eager", 2, draw_pointwise)
def layernorm_eager(o, d):
    x, w, b = o.of(d["tokens"], d["width"], grad=True), o.of(d["width"], grad=True), o.of(d["width"], grad=True)

    def function():
        y = x.float()
        y = y - y.mean(-1, keepdim=True)
        return (y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-5)).to(x.dtype) * w + b
    return forward_and_backward(function, (x, w, b), (o.of(d["tokens"], d["width"]),))


@operator("rmsnorm", "fused", 4, draw_pointwise, needs=function_missing(F, "rms_norm"))
def rmsnorm(o, d):
    x, w = o.of(d["tokens"], d["width"], grad=True), o.of(d["width"], grad=True)
    return forward_and_backward(lambda: F.rms_norm(x, (d["width"],), w, 1e-6), (x, w),
                                (o.of(d["tokens"], d["width"]),))


@operator("rmsnorm", "eager", 4, draw_pointwise)
def rmsnorm_eager(o, d):  # Hugging Face's LlamaRMSNorm
    x, w = o.of(d["tokens"], d["width"], grad=True), o.of(d["width"], grad=True)

    def function():
        y = x.to(torch.float32)
        y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-6)
        return w * y.to(x.dtype)
    return forward_and_backward(function, (x, w), (o.of(d["tokens"], d["width"]),))


@operator("rmsnorm", "aten", 2, draw_pointwise)
def rmsnorm_aten(o, d):  # GPT-NeoX
    x, w = o.of(d["tokens"], d["width"], grad=True), o.of(d["width"], grad=True)

    def function():
        rms = x.norm(2, dim=-1, keepdim=True) * d["width"] ** -0.5
        return w * (x / (rms + 1e-8))
    return forward_and_backward(function, (x, w), (o.of(d["tokens"], d["width"]),))


def rotate_half(x):
    half = x.shape[-1] // 2
    return torch.cat((-x[..., half:], x[..., :half]), dim=-1)


def head_dim_of(width):
    return next(size for size in (128, 96, 80, 64, 8, 2) if width % size == 0)


def sequences(tokens):
    """(batch, length) of so many tokens: as many sequences, to 16, as leave each 2048 or more."""
    batch = next(b for b in (16, 8, 4, 2, 1) if b == 1 or tokens % b == 0 and tokens >= 2048 * b)
    return batch, tokens // batch


@operator("rope", "eager", 4, draw_heads)
def rope_eager(o, d):  # Hugging Face: queries and keys, seen as [batch, heads, seq, head_dim]
    size = head_dim_of(d["width"])
    heads = d["width"] // size
    kv_heads = max(1, heads // 5)
    batch, length = sequences(d["tokens"])
    q, k = (o.of(batch, length, h, size).transpose(1, 2).detach().requires_grad_()
            for h in (heads - kv_heads, kv_heads))
    cos, sin = o.of(batch, 1, length, size), o.of(batch, 1, length, size)

    def function():
        return q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin
    gradients = tuple(o.of(batch, h, length, size) for h in (heads - kv_heads, kv_heads))
    return forward_and_backward(function, (q, k), gradients)


def kernels_missing():
    if not torch.cuda.is_available():
        return "kernels of its own need a GPU"
    return module_missing("triton")()


def compiler_missing():
    missing = kernels_missing()
    if missing:
        return missing
    from torch.utils.cpp_extension import CUDA_HOME  # which speaks up where there is no GPU
    return "" if CUDA_HOME else "no nvcc here"


# A rotation as Transformer Engine and Apex run it: a block a token, a warp a head, one element of two bytes a lane and
# load, sines and cosines made anew for each token. Its bytes are those of any fused rotation, its loads are not.
ROTATION = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <cuda_bf16.h>

__global__ void rotate(const __nv_bfloat16* from, const float* angles, __nv_bfloat16* to, int heads, int size,
                       float sign) {
  extern __shared__ float tables[];
  float *cosines = tables, *sines = tables + size;
  const long token = blockIdx.x;
  for (int i = threadIdx.y * blockDim.x + threadIdx.x; i < size; i += blockDim.x * blockDim.y)
    sincosf(angles[token * size + i], &sines[i], &cosines[i]);
  __syncthreads();
  const int half = size / 2;
  for (int head = threadIdx.y; head < heads; head += blockDim.y) {
    const long row = (token * heads + head) * size;
    for (int i = threadIdx.x; i < size; i += blockDim.x) {
      const float other = __bfloat162float(from[row + (i < half ? i + half : i - half)]);
      const float turned = (i < half ? -other : other) * sign;
      to[row + i] = __float2bfloat16(__bfloat162float(from[row + i]) * cosines[i] + turned * sines[i]);
    }
  }
}

torch::Tensor rotated(torch::Tensor x, torch::Tensor angles, double sign) {
  auto y = torch::empty_like(x);
  const int tokens = x.size(0), heads = x.size(1), size = x.size(2);
  rotate<<<tokens, dim3(32, heads < 16 ? 4 : 8), 2 * size * sizeof(float), at::cuda::getCurrentCUDAStream()>>>(
      reinterpret_cast<const __nv_bfloat16*>(x.data_ptr()), angles.data_ptr<float>(),
      reinterpret_cast<__nv_bfloat16*>(y.data_ptr()), heads, size, static_cast<float>(sign));
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return y;
}
"""


@functools.lru_cache(maxsize=None)
def rotation():
    from torch.utils.cpp_extension import load_inline
    return load_inline("foretrain_rotation", cpp_sources="torch::Tensor rotated(torch::Tensor, torch::Tensor, double);",
                       cuda_sources=ROTATION, functions=["rotated"]).rotated


@operator("rope", "te", 3, draw_heads, needs=compiler_missing, start_s=60.0)
def rope_te(o, d):
    size = head_dim_of(d["width"])
    x, dy = (o.of(d["tokens"], d["width"] // size, size, dtype=torch.bfloat16) for _ in range(2))
    angles, rotated = o.of(d["tokens"], size, dtype=torch.float32), rotation()
    return {"fwd": lambda: rotated(x, angles, 1.0), "bwd": lambda: rotated(dy, angles, -1.0)}


def activation(name, impl, weight, function, gated=False, needs=None):
    """An operator of one input (two where it is gated) and one output of the same size."""
    @operator(name, impl, weight, draw_wide, needs=needs)
    def build(o, d):
        inputs = tuple(o.of(d["tokens"], d["width"], grad=True) for _ in range(1 + gated))
        return forward_and_backward(lambda: function(*inputs), inputs, (o.of(d["tokens"], d["width"]),))
    return build


activation("gelu", "aten", 3, F.gelu)
activation("gelu_tanh", "aten", 4, lambda x: F.gelu(x, approximate="tanh"))
activation("gelu", "eager", 4,  # Hugging Face's gelu_new
           lambda x: 0.5 * x * (1.0 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0)))))
activation("swiglu", "eager", 4, lambda gate, up: F.silu(gate) * up, gated=True)
activation("geglu", "eager", 2, lambda gate, up: F.gelu(gate, approximate="tanh") * up, gated=True)


def halves(name, weight, function):
    """A gated activation of the halves of one tensor, as one product of both leaves them: their rows lie apart."""
    @operator(name, "halves", weight, draw_wide)
    def build(o, d):
        x = o.of(d["tokens"], 2 * d["width"], grad=True)
        return forward_and_backward(lambda: function(*x.chunk(2, dim=-1)), (x,), (o.of(d["tokens"], d["width"]),))
    return build


halves("swiglu", 3, lambda gate, up: F.silu(gate) * up)
halves("geglu", 2, lambda gate, up: F.gelu(gate, approximate="tanh") * up)
activation("squared_relu", "eager", 2, lambda x: torch.square(F.relu(x)))


@operator("add", "aten", 3, draw_pointwise)
def add(o, d):  # backward: the gradients of both uses of the input meet
    x, y, dx, dy = (o.of(d["tokens"], d["width"]) for _ in range(4))
    return {"fwd": lambda: x + y, "bwd": lambda: dx + dy}


@operator("bias", "aten", 4, draw_wide)
def bias(o, d):
    x, b, dy = o.of(d["tokens"], d["width"]), o.of(d["width"]), o.of(d["tokens"], d["width"])
    return {"fwd": lambda: x + b, "bwd": lambda: dy.sum(0)}


@operator("dropout", "fused", 2, draw_pointwise)
def dropout(o, d):
    x = o.of(d["tokens"], d["width"], grad=True)
    return forward_and_backward(lambda: F.dropout(x, 0.1), (x,), (o.of(d["tokens"], d["width"]),))


@operator("copy", "aten", 3, draw_heads)
def copy(o, d):  # heads back behind the sequence, as attention's output needs; backward a plain copy
    size = head_dim_of(d["width"])
    x = o.of(d["width"] // size, d["tokens"], size).transpose(0, 1)
    dy = o.of(d["tokens"], d["width"])
    return {"fwd": lambda: x.contiguous(), "bwd": lambda: dy.clone()}


@operator("copy", "eager", 2, draw_wide)
def copy_joined(o, d):  # two halves joined along the width; backward takes them apart
    left, right = (o.of(d["tokens"], d["width"] // 2 or 1) for _ in range(2))
    dy = o.of(d["tokens"], d["width"])
    half = d["width"] // 2
    return {"fwd": lambda: torch.cat((left, right), dim=-1),
            "bwd": lambda: (dy[:, :half].contiguous(), dy[:, half:].contiguous())}


@operator("embedding", "aten", 5, draw_embedding)
def embedding(o, d):
    table, ids = o.of(d["vocab"], d["width"], grad=True), o.tokens(d["tokens"], d["vocab"])
    return forward_and_backward(lambda: F.embedding(ids, table), (table,), (o.of(d["tokens"], d["width"]),))


def loss(name, weight, function, needs=None):
    @operator("cross_entropy", name, weight, draw_logits, needs=needs)
    def build(o, d):
        logits, labels = o.of(d["tokens"], d["vocab"], grad=True), o.tokens(d["tokens"], d["vocab"])
        one = torch.ones((), dtype=function(logits[:1], labels[:1]).dtype, device=logits.device)
        return forward_and_backward(lambda: function(logits, labels), (logits,), (one,))
    return build


def xentropy(logits, labels):
    from apex.contrib.xentropy import SoftmaxCrossEntropyLoss
    return SoftmaxCrossEntropyLoss.apply(logits, labels, 0.0, -100, True).mean()


loss("fp32", 5, lambda logits, labels: F.cross_entropy(logits.float(), labels))  # Hugging Face
loss("aten", 3, F.cross_entropy)
loss("fused", 3, xentropy, needs=module_missing("apex.contrib.xentropy"))


@functools.lru_cache(maxsize=None)
def triton_kernels():
    """Kernels as Transformer Engine has them in Triton: a program a row of logits, which is read for its sum, read
    again and overwritten by its gradient, and scaled once more backward; a program a token and piece of its row that
    is sent to the places of its experts, or gathered from them."""
    global tl  # kernels look their names up among those of the file
    import triton
    import triton.language as tl

    @triton.jit
    def sums(logits, out, vocab, BLOCK: tl.constexpr):
        row = tl.program_id(0).to(tl.int64)
        largest, total = float("-inf"), 0.0
        for start in range(0, vocab, BLOCK):
            at = start + tl.arange(0, BLOCK)
            x = tl.load(logits + row * vocab + at, mask=at < vocab, other=float("-inf")).to(tl.float32)
            new = tl.maximum(largest, tl.max(x))
            total = total * tl.exp(largest - new) + tl.sum(tl.exp(x - new))
            largest = new
        tl.store(out + 2 * row, largest)
        tl.store(out + 2 * row + 1, total)

    @triton.jit
    def gradients(logits, labels, sums_of, losses, vocab, BLOCK: tl.constexpr):
        row = tl.program_id(0).to(tl.int64)
        label = tl.load(labels + row)
        largest, total = tl.load(sums_of + 2 * row), tl.load(sums_of + 2 * row + 1)
        tl.store(losses + row, tl.log(total) + largest - tl.load(logits + row * vocab + label).to(tl.float32))
        for start in range(0, vocab, BLOCK):
            at = start + tl.arange(0, BLOCK)
            x = tl.load(logits + row * vocab + at, mask=at < vocab, other=float("-inf")).to(tl.float32)
            gradient = tl.exp(x - largest) / total - tl.where(at == label, 1.0, 0.0)
            tl.store(logits + row * vocab + at, gradient.to(logits.dtype.element_ty), mask=at < vocab)

    @triton.jit
    def scale(rows, by, vocab, BLOCK: tl.constexpr):
        row = tl.program_id(0).to(tl.int64)
        factor = tl.load(by + row)
        for start in range(0, vocab, BLOCK):
            at = start + tl.arange(0, BLOCK)
            x = tl.load(rows + row * vocab + at, mask=at < vocab)
            tl.store(rows + row * vocab + at, (x * factor).to(rows.dtype.element_ty), mask=at < vocab)

    @triton.jit
    def send(tokens, places, rows, width, TOP_K: tl.constexpr, BLOCK: tl.constexpr):
        token = tl.program_id(0).to(tl.int64)
        at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(tokens + token * width + at, mask=at < width)
        for k in range(TOP_K):
            place = tl.load(places + token * TOP_K + k)
            tl.store(rows + place * width + at, x, mask=at < width)

    @triton.jit
    def gather(rows, places, tokens, width, TOP_K: tl.constexpr, BLOCK: tl.constexpr):
        token = tl.program_id(0).to(tl.int64)
        at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
        total = tl.zeros((BLOCK,), dtype=tl.float32)
        for k in range(TOP_K):
            place = tl.load(places + token * TOP_K + k)
            total += tl.load(rows + place * width + at, mask=at < width).to(tl.float32)
        tl.store(tokens + token * width + at, total.to(tokens.dtype.element_ty), mask=at < width)

    return types.SimpleNamespace(sums=sums, gradients=gradients, scale=scale, send=send, gather=gather)


@operator("cross_entropy", "te", 3, draw_logits, needs=kernels_missing, start_s=20.0)
def cross_entropy_te(o, d):
    k, rows, vocab = triton_kernels(), d["tokens"], d["vocab"]
    logits, labels = o.fresh(rows, vocab), o.tokens(rows, vocab)
    o.bytes += logits.numel() * logits.element_size()
    sums, losses, by = (torch.ones(n, device=o.device) for n in (2 * rows, rows, rows))
    options = {"BLOCK": min(32768, 1 << (vocab - 1).bit_length()), "num_warps": 32}

    def forward():
        k.sums[(rows,)](logits, sums, vocab, **options)
        k.gradients[(rows,)](logits, labels, sums, losses, vocab, **options)
    return {"fwd": forward, "bwd": lambda: k.scale[(rows,)](logits, by, vocab, **options)}


@operator("accumulate", "aten", 3, draw_gradient)
def accumulate(o, d):
    total = o.fresh(d["n"], d["k"], dtype=torch.float32 if d["grad_bytes"] == 4 else o.dtype)
    gradient = o.of(d["n"], d["k"])
    o.bytes += total.numel() * total.element_size()
    return {"wgrad": lambda: total.add_(gradient)}


def tensors(o, d, dtype, fresh=True):
    each = d["parameters"] // d["tensors"]
    whole = o.fresh(d["tensors"] * each, dtype=dtype) if fresh else o.of(d["tensors"] * each, dtype=dtype)
    if fresh:
        o.bytes += whole.numel() * whole.element_size()
    return list(whole.split(each))


def fused_adamw_missing():
    if "fused" not in torch.optim.AdamW.__init__.__code__.co_varnames:
        return f"AdamW of PyTorch {torch.__version__} has no fused"
    return "" if torch.cuda.is_available() else "AdamW fused needs a GPU"


def adamw(name, weight, state_dtype, needs=None, **how):
    @operator("adamw", name, weight, draw_states, needs=needs)
    def build(o, d):
        dtype = state_dtype or o.dtype
        # Tensors of their own storage: parts of one would not be aligned as a framework's are.
        each = d["parameters"] // d["tensors"]
        parameters = [o.fresh(each, dtype=dtype).requires_grad_() for _ in range(d["tensors"])]
        for parameter in parameters:
            parameter.grad = o.fresh(each, dtype=dtype)
        o.bytes += 4 * d["parameters"] * parameters[0].element_size()
        optimizer = torch.optim.AdamW(parameters, lr=1e-6, **how)
        return {"step": optimizer.step}
    return build


adamw("fused-bf16", 5, None, needs=fused_adamw_missing, fused=True)
adamw("fused", 4, torch.float32, needs=fused_adamw_missing, fused=True)
adamw("eager", 3, torch.float32, foreach=True)


@operator("grad_norm", "aten", 2.5, draw_states, needs=function_missing(torch, "_foreach_norm"))
def grad_norm(o, d):
    gradients = tensors(o, d, torch.float32, fresh=False)
    return {"step": lambda: torch.linalg.vector_norm(torch.stack(list(torch._foreach_norm(gradients, 2.0))))}


@operator("scale_grads", "aten", 2.5, draw_states, needs=function_missing(torch, "_foreach_mul_"))
def scale_grads(o, d):
    gradients = tensors(o, d, torch.float32)
    return {"step": lambda: torch._foreach_mul_(gradients, 0.999)}


def casts(name, source, target):
    @operator(name, "aten", 2.5, draw_states, needs=function_missing(torch, "_foreach_copy_"))
    def build(o, d):
        into = tensors(o, d, target or o.dtype)
        what = tensors(o, d, source or o.dtype, fresh=False)
        return {"step": lambda: torch._foreach_copy_(into, what)}
    return build


casts("cast_grads", None, torch.float32)
casts("cast_weights", torch.float32, None)


@operator("zero_grads", "aten", 2.5, draw_states, needs=function_missing(torch, "_foreach_zero_"))
def zero_grads(o, d):
    gradients = tensors(o, d, torch.float32)
    return {"step": lambda: torch._foreach_zero_(gradients)}


def routed_rows(o, rows, experts):
    """The rows of each expert, as many as chance gives: rows by expert, and where each expert's end."""
    ids = torch.randint(experts, (rows,), device=o.device)
    counts = torch.bincount(ids, minlength=experts)
    return counts.tolist(), torch.cumsum(counts, 0).to(torch.int32)


def expert_operands(o, d):
    x, dy = o.of(d["m"], d["k"]), o.of(d["m"], d["n"])
    return x, o.of(d["experts"], d["n"], d["k"]), dy


@operator("grouped_product", "aten", 14, draw_experts, product=True, needs=function_missing(torch, "_grouped_mm"))
def grouped_product(o, d):
    x, w, dy = expert_operands(o, d)
    ends = routed_rows(o, d["m"], d["experts"])[1]
    return {"fwd": lambda: torch._grouped_mm(x, w.transpose(-2, -1), offs=ends),
            "dgrad": lambda: torch._grouped_mm(dy, w, offs=ends),
            "wgrad": lambda: torch._grouped_mm(dy.t(), x, offs=ends)}


@operator("grouped_product", "fused", 8, draw_experts, product=True, needs=module_missing("grouped_gemm"))
def grouped_product_library(o, d):
    from grouped_gemm import backend
    x, w, dy = expert_operands(o, d)
    counts = torch.tensor(routed_rows(o, d["m"], d["experts"])[0])
    return {"fwd": lambda: backend.gmm(x, w, counts, trans_b=True), "dgrad": lambda: backend.gmm(dy, w, counts),
            "wgrad": lambda: backend.gmm(dy, x, counts, trans_a=True)}


@operator("grouped_product", "eager", 3, draw_experts, product=True)
def grouped_product_eager(o, d):  # one product an expert
    x, w, dy = expert_operands(o, d)
    counts = routed_rows(o, d["m"], d["experts"])[0]
    parts = [p for p in zip(x.split(counts), w.unbind(0), dy.split(counts)) if len(p[0])]
    return {"fwd": lambda: [F.linear(x, w) for x, w, _ in parts],
            "dgrad": lambda: [torch.matmul(dy, w) for _, w, dy in parts],
            "wgrad": lambda: [torch.matmul(dy.t(), x) for x, _, dy in parts]}


def expert_order(o, d):
    """Tokens' rows in the order of experts: for each the place that it has among the choices of tokens."""
    return torch.randint(64, (d["tokens"] * d["top_k"],), device=o.device).argsort()


@operator("permute", "eager", 4, draw_routed)
def permute(o, d):  # Hugging Face transformers 5: rows are gathered by index, those of no expert of this rank cleared
    x, order = o.of(d["tokens"], d["width"], grad=True), expert_order(o, d)
    nobody = torch.zeros(len(order), 1, dtype=torch.bool, device=o.device)
    return forward_and_backward(lambda: x[order // d["top_k"]].masked_fill_(nobody, 0.0), (x,),
                                (o.of(len(order), d["width"]),))


@operator("mask_rows", "eager", 3, draw_pointwise)
def mask_rows(o, d):  # likewise of what a product of experts has made
    x = o.of(d["tokens"], d["width"], grad=True)
    nobody = torch.zeros(d["tokens"], 1, dtype=torch.bool, device=o.device)
    return forward_and_backward(lambda: x.masked_fill(nobody, 0.0), (x,), (o.of(d["tokens"], d["width"]),))


def unpermute(impl, dtype):
    """Rows weighed by the router, back in the order of tokens, and summed; all in the format of the weights."""
    @operator("unpermute", impl, 4, draw_routed)
    def build(o, d):
        order = expert_order(o, d)
        rows = o.of(len(order), d["width"], grad=True)
        weights = o.of(len(order), 1, dtype=dtype, grad=True)

        def function():
            back = torch.empty_like(order)
            back[order] = torch.arange(len(order), device=order.device)
            weighed = (rows * weights)[back]
            return weighed.view(d["tokens"], d["top_k"], d["width"]).sum(dim=1).to(rows.dtype)
        return forward_and_backward(function, (rows, weights), (o.of(d["tokens"], d["width"]),))
    return build


def moved_by_kernels(name, sends):
    """Rows to their experts by one kernel, and back by one; `sends` says which of the two is the forward."""
    @operator(name, "fused", 3, draw_routed, needs=kernels_missing, start_s=10.0)
    def build(o, d):
        k, tokens, width, top_k = triton_kernels(), d["tokens"], d["width"], d["top_k"]
        places = expert_order(o, d).argsort()
        x, rows = o.fresh(tokens, width), o.fresh(tokens * top_k, width)
        o.bytes += (x.numel() + rows.numel()) * x.element_size()
        block = min(4096, 1 << (width - 1).bit_length())
        grid, options = (tokens, -(-width // block)), {"TOP_K": top_k, "BLOCK": block, "num_warps": 8}
        send, gather = (lambda: k.send[grid](x, places, rows, width, **options),
                        lambda: k.gather[grid](rows, places, x, width, **options))
        return {"fwd": send, "bwd": gather} if sends else {"fwd": gather, "bwd": send}
    return build


moved_by_kernels("permute", True)
moved_by_kernels("unpermute", False)
unpermute("eager", None)
unpermute("fp32-scale", torch.float32)


@operator("route", "eager", 3, draw_route)
def route(o, d):  # from the router's logits to the weights and the order of rows; backward to the logits
    logits = o.of(d["tokens"], d["experts"], grad=True)

    def function():
        weights, chosen = torch.topk(F.softmax(logits, dim=-1, dtype=torch.float32), d["top_k"], dim=-1)
        weights = weights / weights.sum(-1, keepdim=True)
        ids, order = torch.sort(chosen.reshape(-1))
        counted = ids.int() if ids.is_cuda else ids.float()  # as transformers does: the host counts floats alone
        torch.cumsum(torch.histc(counted, bins=d["experts"], min=0, max=d["experts"] - 1), 0, dtype=torch.int32)
        (ids >= d["experts"]).unsqueeze(-1)
        ids.clamp_(max=d["experts"] - 1)
        return weights.reshape(-1)[order]
    return forward_and_backward(function, (logits,), (o.of(d["tokens"] * d["top_k"], dtype=torch.float32),))


# ---------------------------------------------------------------------------------------------------------
# Eight bits
# ---------------------------------------------------------------------------------------------------------

E4M3, E5M2 = getattr(torch, "float8_e4m3fn", None), getattr(torch, "float8_e5m2", None)
EIGHT_BIT_STEP = 16  # elements: the sides of an eight-bit product are multiples of 16 bytes


def draw_scaled(u, limits):
    dims = draw_linear(u, limits)
    return dims and {name: rounded(size, EIGHT_BIT_STEP) for name, size in dims.items()}


def draw_blocks(u, limits):
    dims = draw_linear(u, limits)
    return dims and {name: rounded(size, 128) for name, size in dims.items()}


def draw_scaled_experts(u, limits):
    dims = draw_experts(u, limits)
    if not dims or dims["m"] < 64 * dims["experts"]:
        return None
    return {name: size if name == "experts" else rounded(size, EIGHT_BIT_STEP) for name, size in dims.items()}


def draw_cast(u, limits):
    """Activations and gradients, and now and then a weight; as they lie, or as they lie and transposed."""
    dims = draw_wide(u, limits)
    dims["tokens"], dims["width"] = rounded(dims["tokens"], 16), rounded(dims["width"], 16 if limits.tiny else 128)
    return dict(dims, copies=pick(u[4], (1, 2)))


def draw_block_cast(u, limits):
    dims = draw_cast(u, limits)
    return dict(dims, tokens=rounded(dims["tokens"], 128))


def draw_eight_bits(u, limits):
    return {name: size for name, size in draw_cast(u, limits).items() if name != "copies"}


def scaled_missing(name):
    def needs():
        if not torch.cuda.is_available():
            return "eight-bit products need a GPU"
        if torch.cuda.get_device_capability() < (8, 9):
            return "this GPU has no eight-bit products"
        return "" if hasattr(torch, name) and E4M3 else f"PyTorch {torch.__version__} has no {name}"
    return needs


def tensor_scales(o, rows, columns):
    return torch.ones((), device=o.device), torch.ones((), device=o.device)


def row_scales(o, rows, columns):
    return torch.ones(rows, 1, device=o.device), torch.ones(1, columns, device=o.device)


def scaled_product(dtype, weight, scales, gradients, fast):
    """All three products of a linear in eight bits, each with its operands' rows along its depth, as Hopper asks
    for: the backward works on transposed copies. `gradients` is their format, `fast` whether the backward adds up
    fast, as the forward does: by one scale a tensor torchao's recipes and Transformer Engine's do not."""
    @operator("linear", "aten", weight, draw_scaled, product=True, needs=scaled_missing("_scaled_mm"), dtype=dtype)
    def build(o, d):
        def product(left, rows, columns, depth, fast):
            x, y = o.of(rows, depth, dtype=left), o.of(columns, depth, dtype=E4M3)
            a, b = scales(o, rows, columns)
            return lambda: torch._scaled_mm(x, y.t(), scale_a=a, scale_b=b, out_dtype=torch.bfloat16,
                                            use_fast_accum=fast)
        m, k, n = d["m"], d["k"], d["n"]
        return {"fwd": product(E4M3, m, n, k, True), "dgrad": product(gradients, m, k, n, fast),
                "wgrad": product(gradients, n, k, m, fast)}
    return build


scaled_product("fp8", 24, tensor_scales, E5M2, fast=False)
scaled_product("fp8-row", 16, row_scales, E4M3, fast=True)


@operator("linear", "aten", 8, draw_blocks, product=True, needs=scaled_missing("_scaled_mm"), dtype="fp8-block")
def block_scaled_product(o, d):
    """As DeepSeek-V3 trains: a scale for 128 elements along the depth, of weights for 128 x 128."""
    kinds = F.ScalingType

    def product(rows, columns, depth, weight):
        x, y = o.of(rows, depth, dtype=E4M3), o.of(columns, depth, dtype=E4M3)
        a = torch.ones(depth // 128, rows, device=o.device).t()
        if weight:
            blocks = rounded(depth / 128 + 1.5, 4)  # cuBLAS wants their number along the depth in fours
            b, kind = torch.ones(columns // 128, blocks, device=o.device).t(), kinds.BlockWise128x128
        else:
            b, kind = torch.ones(depth // 128, columns, device=o.device).t(), kinds.BlockWise1x128
        return lambda: F.scaled_mm(x, y.t(), a, kinds.BlockWise1x128, b, kind, output_dtype=torch.bfloat16)
    return {"fwd": product(d["m"], d["n"], d["k"], True), "dgrad": product(d["m"], d["k"], d["n"], True),
            "wgrad": product(d["n"], d["k"], d["m"], False)}


def padded_ends(o, rows, experts):
    """Where each expert's rows end, as many as chance gives, in steps that eight-bit products can take."""
    counts = torch.bincount(torch.randint(experts, (rows // EIGHT_BIT_STEP,), device=o.device), minlength=experts)
    return torch.cumsum(counts * EIGHT_BIT_STEP, 0).to(torch.int32)


@operator("grouped_product", "aten", 12, draw_scaled_experts, product=True, needs=scaled_missing("_scaled_grouped_mm"),
          dtype="fp8-row")
def scaled_grouped_product(o, d):
    experts, m, k, n = d["experts"], d["m"], d["k"], d["n"]
    ends = padded_ends(o, m, experts)

    def ones(*shape):
        return torch.ones(*shape, device=o.device)

    def rows(columns, depth):
        x, w = o.of(m, depth, dtype=E4M3), o.of(experts, columns, depth, dtype=E4M3)
        a, b = ones(m), ones(experts, columns)
        return lambda: torch._scaled_grouped_mm(x, w.transpose(-2, -1), a, b, offs=ends, out_dtype=torch.bfloat16,
                                                use_fast_accum=True)
    dy, x = o.of(n, m, dtype=E4M3), o.of(k, m, dtype=E4M3)
    of_dy, of_x = ones(n * experts), ones(k * experts)
    return {"fwd": rows(n, k), "dgrad": rows(k, n),
            "wgrad": lambda: torch._scaled_grouped_mm(dy, x.t(), of_dy, of_x, offs=ends, out_dtype=torch.bfloat16,
                                                      use_fast_accum=True)}


def eight_bits(x, scale):
    most = torch.finfo(E4M3).max
    return (x.float() * scale).clamp(-most, most).to(E4M3)


def both_ways(cast):
    return lambda *inputs: (cast(*inputs), cast(*inputs).t().contiguous())


def scale_of(amax):
    return torch.finfo(E4M3).max / amax.float().clamp(min=1e-12)


def cast_by_rows(x):
    scale = scale_of(x.abs().amax(-1, keepdim=True))
    return eight_bits(x, scale), scale


def cast_by_rows_and_columns(x):
    return (*cast_by_rows(x), *cast_by_rows(x.t().contiguous()))


def cast_by_blocks(x):
    blocks = x.view(x.shape[0], -1, 128)
    scale = scale_of(blocks.abs().amax(-1, keepdim=True))
    return eight_bits(blocks, scale).view(x.shape), scale


def cast_by_blocks_both_ways(x):
    return (*cast_by_blocks(x), *cast_by_blocks(x.t().contiguous()))


# By format: as it lies, and as it lies and transposed. One scale for all is known beforehand (`amax`, or the last
# step's); rows and blocks find their own on the way.
CASTS = {"fp8": (eight_bits, both_ways(eight_bits)), "fp8-row": (cast_by_rows, cast_by_rows_and_columns),
         "fp8-block": (cast_by_blocks, cast_by_blocks_both_ways)}


class Options:
    compile = False  # --compile, known before families are asked whether they can run


COMPILE_S = 20.0  # set aside for torch.compile: with less time left none begins


def compile_for(made):
    import torch._dynamo.config as dynamo
    import torch._functorch.config as functorch
    if hasattr(functorch, "donated_buffer"):  # a backward that is run again must not give its inputs away
        functorch.donated_buffer = False
    if hasattr(dynamo, "cache_size_limit"):  # beyond it PyTorch runs the function as it is written
        dynamo.cache_size_limit = 64
    function, inputs, gradients = made
    function = torch.compile(as_new(function), dynamic=False)
    forward_and_backward(lambda: function(*inputs), tuple(i for i in inputs if i.requires_grad), gradients)["bwd"]()
    return function


def compiled(name, weight, draw, make, bias=False):
    """One kernel made by torch.compile (--compile): implementation `fused`. make(o, d) gives function,
    inputs and the gradients of its outputs. It is compiled for each shape anew, as in a training step, where shapes
    do not change: with symbolic ones kernels take 1.2 to 4.5 times as long. A bias has the gradient of the first input
    summed over tokens, by a kernel of its own as in Megatron."""
    made = {}

    def needs():
        if not Options.compile:
            return "only with --compile"
        if any(f.name == f"{name} fused" and f.needs is not needs and not f.missing() for f in FAMILIES):
            return "a library has it"
        return "" if hasattr(torch, "compile") else f"PyTorch {torch.__version__} has no compile"

    @operator(name, "fused", weight, draw, needs=needs, start_s=COMPILE_S)
    def build(o, d):
        function, inputs, gradients = make(o, d)
        shape = tuple(d.items())
        if made.get("shape") != shape:
            made.update(shape=shape, function=compile_for((function, inputs, gradients)))
        compiled_function = made["function"]
        passes = forward_and_backward(lambda: compiled_function(*inputs), tuple(i for i in inputs if i.requires_grad),
                                      gradients)
        backward = passes["bwd"]
        return dict(passes, bwd=lambda: backward()[0].sum(0)) if bias else passes


def pointwise_inputs(o, d, count, rows=0):
    inputs = [o.of(d["tokens"], d["width"], grad=True) for _ in range(count)]
    return inputs + [o.of(d["width"]) for _ in range(rows)], (o.of(d["tokens"], d["width"]),)


def compiled_rope(o, d):
    size = head_dim_of(d["width"])
    batch, length = sequences(d["tokens"])
    x = o.of(batch, length, d["width"] // size, size).transpose(1, 2).detach().requires_grad_()
    cos, sin = o.of(batch, 1, length, size), o.of(batch, 1, length, size)
    return (lambda x, cos, sin: x * cos + rotate_half(x) * sin, (x, cos, sin),
            (o.of(batch, d["width"] // size, length, size),))


def eight_bit_missing(compiles):
    def needs():
        if not E4M3:
            return f"PyTorch {torch.__version__} has no float8_e4m3fn"
        if not torch.cuda.is_available():
            return "eight-bit casts need a GPU"
        return "only with --compile" if compiles and not Options.compile else ""
    return needs


def as_new(function):
    """The same function with code of its own: PyTorch keeps what it has compiled by code, tries all of it at each
    call, and gives up compiling after some."""
    return types.FunctionType(function.__code__.replace(), function.__globals__, function.__name__,
                              function.__defaults__, function.__closure__)


def without_gradients(name, impl, weight, draw, choose, inputs, dtype=""):
    """An operator with no backward. choose(dims) gives the function, inputs(o, dims) what it reads; `fused` is
    compiled for each shape anew: with symbolic ones the reductions of scales are split for any length, up to five
    times slower."""
    made = {}

    @operator(name, impl, weight, draw, needs=eight_bit_missing(impl == "fused"), dtype=dtype,
              start_s=COMPILE_S if impl == "fused" else 0.0)
    def build(o, d):
        function, given = choose(d), inputs(o, d)
        if impl == "fused":
            shape = tuple(d.items())
            if made.get("shape") != shape:
                made.update(shape=shape, function=torch.compile(as_new(function), dynamic=False))
                made["function"](*given)
            function = made["function"]
        return {"fwd": lambda: function(*given)}
    return build


def wide_input(o, d):
    return (o.of(d["tokens"], d["width"]),)


def scaled_input(o, d):
    return o.of(d["tokens"], d["width"]), torch.ones((), device=o.device)


def largest(x):
    return x.abs().max()


def transposed(x):
    return x.t().contiguous()


for format_of_cast, casts_of_format in CASTS.items():
    without_gradients("quantise", "fused", 6, draw_block_cast if format_of_cast == "fp8-block" else draw_cast,
                      lambda d, casts=casts_of_format: casts[d["copies"] - 1],
                      scaled_input if format_of_cast == "fp8" else wide_input, dtype=format_of_cast)
without_gradients("quantise", "eager", 4, draw_cast, lambda d: CASTS["fp8"][d["copies"] - 1], scaled_input, dtype="fp8")
without_gradients("amax", "fused", 3, draw_eight_bits, lambda d: largest, wide_input)
without_gradients("amax", "eager", 3, draw_eight_bits, lambda d: largest, wide_input)
without_gradients("transpose", "eager", 3, draw_eight_bits, lambda d: transposed,
                  lambda o, d: (o.of(d["tokens"], d["width"], dtype=E4M3),), dtype="fp8")

compiled("swiglu", 3, draw_wide, lambda o, d: (lambda gate, up: F.silu(gate) * up, *pointwise_inputs(o, d, 2)))
compiled("gelu", 2, draw_wide, lambda o, d: (
    lambda x: 0.5 * x * (1.0 + torch.tanh(0.7978845608 * (x + 0.044715 * x * x * x))), *pointwise_inputs(o, d, 1)))
compiled("bias_gelu", 2, draw_wide, lambda o, d: (
    lambda x, b: F.gelu(x + b, approximate="tanh"), *pointwise_inputs(o, d, 1, rows=1)), bias=True)
compiled("bias_dropout_add", 2, draw_pointwise, lambda o, d: (
    lambda x, y, b: y + F.dropout(x + b, 0.1), *pointwise_inputs(o, d, 2, rows=1)), bias=True)
compiled("rope", 3, draw_heads, compiled_rope)


# ---------------------------------------------------------------------------------------------------------
# What the GPU says of itself
# ---------------------------------------------------------------------------------------------------------

class FieldValue(ctypes.Structure):
    _fields_ = [("field", ctypes.c_uint), ("scope", ctypes.c_uint), ("timestamp", ctypes.c_longlong),
                ("latency", ctypes.c_longlong), ("value_type", ctypes.c_uint), ("status", ctypes.c_uint),
                ("value", ctypes.c_ulonglong)]


THROTTLES = ((0x4, "power_cap"), (0x8, "hardware"), (0x20, "thermal"), (0x40, "hardware_thermal"),
             (0x80, "power_brake"), (0x10, "sync_boost"), (0x2, "application_clocks"))


class Nvml:
    """SM clock (MHz), board power (W), enforced limit (W), throttle reasons; empty where unknown."""

    INSTANT_POWER = 186  # the plain reading of Hopper is an average over a second

    def __init__(self, index):
        self._library = self._device = None
        try:
            library = ctypes.CDLL("libnvidia-ml.so.1")
            device = ctypes.c_void_p()
            uuid = str(getattr(torch.cuda.get_device_properties(index), "uuid", ""))
            found = library.nvmlInit_v2() == 0 and (
                (uuid and library.nvmlDeviceGetHandleByUUID(f"GPU-{uuid}".encode(), ctypes.byref(device)) == 0) or
                library.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(device)) == 0)
            if found:
                self._library, self._device = library, device
        except (OSError, AttributeError):
            pass

    def _ask(self, function, kind=ctypes.c_uint, *arguments):
        if not self._library or not hasattr(self._library, function):
            return None
        value = kind()
        failed = getattr(self._library, function)(self._device, *arguments, ctypes.byref(value))
        return None if failed else value.value

    def clock(self):
        return self._ask("nvmlDeviceGetClockInfo", ctypes.c_uint, ctypes.c_uint(1))

    def power(self):
        if self._library and hasattr(self._library, "nvmlDeviceGetFieldValues"):
            value = FieldValue(field=self.INSTANT_POWER)
            if self._library.nvmlDeviceGetFieldValues(self._device, 1, ctypes.byref(value)) == 0 \
                    and value.status == 0:
                return (value.value & 0xffffffff) / 1000
        watts = self._ask("nvmlDeviceGetPowerUsage")
        return None if watts is None else watts / 1000

    def limit(self):
        watts = self._ask("nvmlDeviceGetEnforcedPowerLimit")
        return None if watts is None else watts / 1000

    def throttle(self):
        reasons = self._ask("nvmlDeviceGetCurrentClocksThrottleReasons", ctypes.c_ulonglong)
        if reasons is None:
            return ""
        return "+".join(word for bit, word in THROTTLES if reasons & bit) or "none"

    def temperature(self):
        return self._ask("nvmlDeviceGetTemperature", ctypes.c_uint, ctypes.c_uint(0))

    def driver(self):
        if not self._library:
            return ""
        text = ctypes.create_string_buffer(96)
        self._library.nvmlSystemGetDriverVersion(text, 96)
        return text.value.decode(errors="replace")


# ---------------------------------------------------------------------------------------------------------
# Timing
# ---------------------------------------------------------------------------------------------------------

class Timing:
    def __init__(self, us, spread, host_us, clock=None, power=None, limit=None, throttle="", share=None,
                 loop_s=None):
        self.us, self.spread, self.host_us, self.clock = us, spread, host_us, clock
        self.power, self.limit, self.throttle, self.share, self.loop_s = power, limit, throttle, share, loop_s


def relative_spread(values):
    return statistics.stdev(values) / statistics.fmean(values) if len(values) > 1 else 0.0


class CpuTimer:
    """The same interface on the host: for tests, and for a look at the files without a GPU."""

    cache_bytes = 0
    memory = 2 ** 28
    unsteady = math.inf
    settled_pair_s = 0.0

    def keep_busy(self):
        pass

    def measure(self, calls, product, share, lead=1.0, settled=False):
        times = []
        for i in range(3):
            start = time.perf_counter()
            calls[i % len(calls)]()
            times.append((time.perf_counter() - start) * 1e6)
        return Timing(max(median(times), 0.001), relative_spread(times), median(times), share=share,
                      loop_s=sum(times) / 1e6)

    def describe(self):
        return {"device": "cpu"}


class CudaTimer:
    """Times calls in a warm loop on the GPU."""

    BATCH_US = 1000  # time of a batch between two events, if one call is not longer
    MOST_CALLS = 24  # a batch's calls
    SPIN = 200000    # cycles of the kernel that measures the clock
    WARM_US, SAMPLE_US = 15e3, 30e3
    # A governor averages power over some 0.3 s, and now and then overshoots for as long: the clock that a loop
    # settles at is a mean over a longer time.
    SETTLED_WARM_US, SETTLED_US = 300e3, 900e3
    settled_pair_s = 2 * (SETTLED_WARM_US + SETTLED_US) / 1e6  # what a shape takes longer that has such a pair
    unsteady = 0.1  # a spread above which something else was timed: the host fell behind, say

    def __init__(self, device):
        self.device = device
        properties = torch.cuda.get_device_properties(device)
        self.cache_bytes = getattr(properties, "L2_cache_size", 64 * 2 ** 20)
        self.memory = properties.total_memory
        self.nvml = Nvml(device.index or 0)
        size = 4096
        x, w = (torch.randn(rows, size, device=device, dtype=torch.bfloat16) for rows in (8192, size))
        y = torch.empty(8192, size, device=device, dtype=torch.bfloat16)
        self._product = lambda: torch.matmul(x, w, out=y)
        big = torch.randn(2 ** 27, device=device, dtype=torch.bfloat16)
        also = torch.empty_like(big)
        self._memory = lambda: torch.add(big, 1, out=also)
        for _ in range(200):
            self._product()
        self._product_us = self._time(self._product, 20)
        self._memory_us = self._time(self._memory, 10)
        self._spin_us = self._spin_overhead()

    def sync(self):
        torch.cuda.synchronize(self.device)

    def keep_busy(self):
        """A few milliseconds of products, while the host prepares the next sample."""
        for _ in range(8):
            self._product()

    def describe(self):
        properties = torch.cuda.get_device_properties(self.device)
        return {"device": properties.name, "memory_bytes": properties.total_memory,
                "multiprocessors": properties.multi_processor_count, "l2_bytes": self.cache_bytes,
                "driver": self.nvml.driver(), "cuda": torch.version.cuda, "limit_w": self.nvml.limit(),
                "cudnn": torch.backends.cudnn.version(), "temperature_c": self.nvml.temperature(),
                "clock_from": "spin" if self._spin_us is not None else "nvml"}

    def _event(self):
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def _time(self, call, count):
        call()
        start = self._event()
        for _ in range(count):
            call()
        end = self._event()
        self.sync()
        return start.elapsed_time(end) * 1000 / count

    def _spin_overhead(self):
        """What events add around a kernel that spins, in us: twice the cycles take twice the rest."""
        if not hasattr(torch.cuda, "_sleep"):
            return None
        try:
            torch.cuda._sleep(1000 * 1000 * 1000)  # half a second: the clock settles, the host gets ahead
            found = []
            for _ in range(20):
                marks = [self._event()]
                for cycles in (self.SPIN, 3 * self.SPIN):
                    torch.cuda._sleep(cycles)
                    marks.append(self._event())
                found.append(marks)
            self.sync()
            short = median([marks[0].elapsed_time(marks[1]) for marks in found]) * 1000
            long = median([marks[1].elapsed_time(marks[2]) for marks in found]) * 1000
            return (3 * short - long) / 2
        except (RuntimeError, AttributeError):
            return None

    def _estimate(self, calls):
        """Time on the GPU and on the host of one call, from many after the queue has run empty. On the host the
        lower quartile of the later half: caches are warm by then, and other work on the machine interrupts."""
        gpu_us, host_us = math.inf, []
        for count in (3, 64):
            count = max(4, min(count, int(12e3 / gpu_us))) if gpu_us < math.inf else count
            self.sync()
            start, host_us = self._event(), []
            for i in range(count):
                began = time.perf_counter()
                calls[i % len(calls)]()
                host_us.append((time.perf_counter() - began) * 1e6)
            end = self._event()
            self.sync()
            gpu_us = min(gpu_us, start.elapsed_time(end) * 1000 / count)
            if gpu_us > 20e3:
                break
        later = sorted(host_us[len(host_us) // 2:])
        host_us = later[len(later) // 4]
        if gpu_us < 1.3 * host_us:  # the GPU waited for the host: once more, with a queue in front
            for _ in range(math.ceil(12 * host_us / self._product_us)):
                self._product()
            start = self._event()
            for i in range(8):
                calls[i % len(calls)]()
            end = self._event()
            self.sync()
            gpu_us = min(gpu_us, start.elapsed_time(end) * 1000 / 8)
        return gpu_us, host_us

    def measure(self, calls, product, share, lead=1.3, settled=False):
        """`calls` do the same on different operands. `share` is the share of time in products; `lead` how far
        the host is kept ahead, in times of what it needs; `settled`: long enough for the clock to settle."""
        calls[0]()
        gpu_us, host_us = self._estimate(calls)
        count = max(1, min(self.MOST_CALLS, int(self.BATCH_US / gpu_us)))
        batch_us = count * gpu_us
        # Work between the batches: to reach the share, and at least what keeps the host ahead.
        ahead_us = count * (lead * host_us - gpu_us) + 20
        if product:
            fill, fill_us = (self._product, self._product_us) if share >= 1 else (self._memory, self._memory_us)
            between_us = 0 if share >= 1 else batch_us * (1 - share) / share
        else:
            fill, fill_us = self._product, self._product_us
            between_us = batch_us * share / (1 - share)
        fills = math.ceil(max(between_us, ahead_us if lead * host_us > gpu_us else 0) / fill_us - 0.25)
        round_us = batch_us + fills * fill_us
        settled = settled and not (share >= 1 and fills)  # other products between: not this one's clock
        if settled:
            rounds = max(5, round(self.SETTLED_US / round_us))
        else:
            rounds = max(5 if round_us < 40e3 else 3, min(20, round(self.SAMPLE_US / round_us)))

        def one_round(first, probe):
            for _ in range(fills):
                fill()
            start = self._event()
            for i in range(count):
                calls[(first + i) % len(calls)]()
            end = self._event()
            if not probe or self._spin_us is None:
                return start, end, None
            torch.cuda._sleep(self.SPIN)
            return start, end, self._event()

        began = self._event()
        for i in range(max(1, round((self.SETTLED_WARM_US if settled else self.WARM_US) / round_us))):
            one_round(i * count, False)
        warmed = self._event()
        step = max(1, rounds // (24 if settled else 4))
        found = [one_round(i * count, i % step == step - 1) for i in range(rounds)]
        clocks, powers, throttle = self._watch(warmed, found[-1][1])
        self.sync()
        times = [start.elapsed_time(end) * 1000 / count for start, end, _ in found]
        clocks = [self._clock(end, spun) for _, end, spun in found if spun] or clocks[-8:]
        powers = powers if settled else powers[-8:]  # readings lag
        usual = statistics.fmean if settled else median  # the time and the clock of all of it, or of no hiccup
        us = usual(times)
        products_us = total_us = us * count + fills * fill_us
        if not product:
            products_us = fills * fill_us
        elif share < 1:
            products_us = us * count
        return Timing(us, relative_spread(times), host_us, usual(clocks) if clocks else None,
                      statistics.fmean(powers) if powers else None, self.nvml.limit(), throttle,
                      products_us / total_us, began.elapsed_time(found[-1][1]) / 1000)

    def _clock(self, end, spun):
        return self.SPIN / max(end.elapsed_time(spun) * 1000 - self._spin_us, 1)

    def _watch(self, begin, end):
        """Clock, power and throttle reasons while the GPU works off its queue."""
        clocks, powers, throttle = [], [], ""
        while True:
            done = end.query()
            if begin.query() and (not done or not powers):
                reading = self.nvml.power()
                if reading is not None:
                    powers.append(reading)
                reading = self.nvml.clock()
                if reading:
                    clocks.append(reading)
                throttle = self.nvml.throttle()
            if done:
                return clocks, powers, throttle
            time.sleep(0.005)


# ---------------------------------------------------------------------------------------------------------
# Files
# ---------------------------------------------------------------------------------------------------------

class Table:
    """A CSV file that only grows, a whole row at a time. What an interrupted run left of a row is cut off."""

    def __init__(self, path, columns):
        self.path, self.columns, self.rows = path, columns, []
        try:
            os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
            self._file = open(path, "a+b")
        except OSError as error:
            raise BadInput(f"{path}: cannot be written: {error.strerror}") from None
        self._file.seek(0)
        text = self._file.read()
        whole = text[:text.rfind(b"\n") + 1]
        if len(whole) < len(text):
            self._file.truncate(len(whole))
        lines = whole.decode("utf-8", "replace").splitlines()
        if not lines:
            self._write(",".join(columns) + "\n")
        elif lines[0] != ",".join(columns):
            raise BadInput(f"{path}:1:1: found the columns '{lines[0][:60]}', expected those of this sampler; "
                           "take another folder")
        for number, line in enumerate(lines[1:], 2):
            cells = line.split(",")
            if len(cells) != len(columns):
                raise BadInput(f"{path}:{number}:1: found {len(cells)} cells, expected {len(columns)}")
            self.rows.append(dict(zip(columns, cells)))

    def append(self, rows):
        self.rows += rows
        self._write("".join(",".join(str(row.get(c, "")) for c in self.columns) + "\n" for row in rows))

    def _write(self, text):
        self._file.seek(0, os.SEEK_END)
        self._file.write(text.encode())
        self._file.flush()


def digits(value, count):
    """A number in few digits; empty for none."""
    if value is None:
        return ""
    text = f"{float(value):.{count}g}"
    return f"{float(text):.0f}" if "e" in text and abs(value) >= 1 else text


def dims_text(dims):
    return " ".join(f"{name}={size}" for name, size in dims.items())


def sizes_of(text):
    return {name: int(size) for name, size in (item.split("=") for item in text.split())}


# ---------------------------------------------------------------------------------------------------------
# What to sample next
# ---------------------------------------------------------------------------------------------------------

class Neighbours:
    """How well the samples of one family foretell a new shape: log time against log sizes, by the nearest
    ones. Crude, but it need only say where more samples are worth most."""

    def __init__(self):
        self._points = []  # (features, {pass: log us})

    @staticmethod
    def features(dims):
        logs = [math.log2(size) for size in dims.values()]
        odd = [2.0 * (size % 8 != 0) + 0.5 * (size % 64 != 0) for size in dims.values() if size > 8]
        return logs + [sum(logs)] + odd + [0.0] * (len(dims) - len(odd))

    def add(self, dims, log_us):
        self._points.append((self.features(dims), log_us))

    def __len__(self):
        return len(self._points)

    def unsure(self, dims):
        """Distance to the nearest samples, and how much these differ from what size explains."""
        here = self.features(dims)
        near = sorted((sum((a - b) ** 2 for a, b in zip(here, f)), sum(f[:len(dims)]), us)
                      for f, us in self._points)[:5]
        if len(near) < 2:
            return math.inf
        efficiency = [us - size * math.log(2) for _, size, us in near]
        return 0.1 * math.sqrt(near[0][0]) + statistics.pstdev(efficiency)


class Design:
    """The next shape of a family, from its own sequence; every third one where it is least sure."""

    LOOK_AHEAD = 12

    def __init__(self, family, limits, seed, rows):
        self.family, self._limits = family, limits
        self._seed = seed * 7919 + sum(ord(c) * (i + 1) for i, c in enumerate(family.name))
        self._index, self._ahead, self.done = 0, [], 0
        self._taken, self.model, self.skipped, self.skipped_in_a_row = set(), Neighbours(), 0, 0
        for row in rows:
            self.note(sizes_of(row["dims"]), row["pass"], float(row["us"]))

    def note(self, dims, which, us):
        text = dims_text(dims)
        self.skipped_in_a_row = 0
        if text not in self._taken:
            self._taken.add(text)
            self.done += 1
        if which in ("fwd", "step", "wgrad"):
            self.model.add(dims, math.log(us))

    def skip(self, dims):
        self._taken.add(dims_text(dims))
        self.skipped += 1
        self.skipped_in_a_row += 1

    def settles(self):
        """Whether the next shape is one of those timed until the clock has settled."""
        return self.family.product and self.done % SETTLED_EVERY == 0

    def _fill(self, count):
        tries = 400 + 8 * len(self._taken)  # a resumed sequence passes what is taken; a tiny space runs out
        while len(self._ahead) < count and tries > 0:
            tries -= 1
            dims = self.family.draw(halton(self._index, 6, self._seed), self._limits)
            self._index += 1
            if dims and dims_text(dims) not in self._taken and dims not in self._ahead:
                self._ahead.append(dims)

    def next(self):
        """The next shape, or None where no new one is left (tiny spaces)."""
        self._fill(self.LOOK_AHEAD)
        self._ahead = [dims for dims in self._ahead if dims_text(dims) not in self._taken]
        if not self._ahead:
            return None
        if self.done % 3 == 2 and len(self.model) >= 12:
            best = max(range(len(self._ahead)), key=lambda i: (self.model.unsure(self._ahead[i]), -i))
            return self._ahead.pop(best)
        return self._ahead.pop(0)


class Progress:
    """A line on a terminal: how far, how fast, how long still. Silent elsewhere."""

    def __init__(self, seconds):
        self._begin, self._seconds, self._on, self._shown = time.monotonic(), seconds, sys.stderr.isatty(), 0.0

    def show(self, samples, what):
        now = time.monotonic()
        if not self._on or now - self._shown < 0.2:
            return
        self._shown = now
        gone = now - self._begin
        left = max(0, int(self._seconds - gone))
        full = min(30, int(30 * gone / self._seconds))
        bar = "#" * full + "." * (30 - full)
        sys.stderr.write(f"\r[{bar}] {samples} samples, {samples / max(gone, 1e-9):.1f}/s, "
                         f"{left // 60}:{left % 60:02d} left  {what:<24.24}")
        sys.stderr.flush()

    def end(self):
        if self._on:
            sys.stderr.write("\r" + " " * 100 + "\r")


def first_line(error):
    """What went wrong, in one line; many an assertion says nothing but its kind."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:160]


def is_out_of_memory(error):
    return isinstance(error, MemoryError) or "out of memory" in str(error).lower() \
        or "can't allocate memory" in str(error).lower()


def check_resumed(row, where):
    """What a run goes on from has to be numbers; the rest of a row is for `foretrain fit` to judge."""
    try:
        sizes, us = sizes_of(row["dims"]), float(row["us"])
    except ValueError:
        sizes, us = {}, 0.0
    if not sizes or min(sizes.values()) < 1 or not 0 < us < math.inf:
        raise BadInput(f"{where}: found the dims '{row['dims'][:60]}' and us '{row['us'][:20]}', expected sizes as "
                       "name=value and a time above 0; take the row out, or another folder")


class Sampler:
    def __init__(self, options, families, timer, device):
        self._options, self._timer, self._device = options, timer, device
        self.table = Table(os.path.join(options.output, "operators.csv"), COLUMNS)
        self.mixed = Table(os.path.join(options.output, "mixed", "operators.csv"), COLUMNS)
        self._skipped_path = os.path.join(options.output, "skipped.txt")
        self.before, self.skipped = len(self.table.rows) + len(self.mixed.rows), 0
        self.given_up, self.used_up = [], []  # families that do not run here, and that have no new shape
        limits = Limits(options.tiny)
        by_name = {}
        for number, row in enumerate(self.table.rows, 2):
            check_resumed(row, f"{self.table.path}:{number}:1")
            by_name.setdefault((row["operator"], row["impl"], row["dtype"]), []).append(row)
        self._designs = [Design(f, limits, options.seed, by_name.get((f.operator, f.impl, self._dtype_of(f)), []))
                         for f in families]
        self._operands = Operands(device, DTYPES[options.dtype], timer.memory)
        self._cost = {}  # seconds that a usual shape of a family took, a running mean
        self.seconds = {}  # spent on each family
        self._products_now = True
        self.by_minute = {}  # samples at the end of each minute

    def _dtype_of(self, family):
        return family.dtype or self._options.dtype

    @property
    def new(self):
        return len(self.table.rows) + len(self.mixed.rows) - self.before

    def run(self, deadline, progress):
        start = time.monotonic()
        while self._designs:
            design = self._whose_turn()
            name = design.family.name
            usual = self._cost.get(name, 0.5 if not self._options.tiny else 0.02)
            more = self._more_than_usual(design)
            if time.monotonic() + usual + more > deadline:
                self._designs.remove(design)  # one that takes less may still fit
                continue
            dims = design.next()
            if dims is None:
                self._designs.remove(design)
                self.used_up.append(name)
                continue
            began = time.monotonic()
            self._sample(design, dims)
            took = time.monotonic() - began
            if not more:
                self._cost[name] = 0.7 * usual + 0.3 * took
            self.seconds[name] = self.seconds.get(name, 0) + took
            self.by_minute[int((time.monotonic() - start) / 60)] = self.new
            progress.show(self.new, name)

    def _more_than_usual(self, design):
        """Seconds that the next shape takes longer than others: to start the family, for the clock to settle."""
        start = design.family.start_s if design.family.name not in self.seconds else 0.0
        return start + (self._timer.settled_pair_s if design.settles() else 0.0)

    def _whose_turn(self):
        """By weight: the family that is furthest behind its share of shapes comes next. The first ten count a
        quarter, so that a short run has enough of the lightest to fit a model. Products come in a row, and so do
        the others, because the clock takes a while to settle between the two. A shape skipped has had its turn."""
        def turn(design):
            tried = design.done + design.skipped
            return (0.5 + tried - 0.75 * min(tried, 10)) / design.family.weight, design.family.name
        best = min(self._designs, key=turn)
        same = [design for design in self._designs if design.family.product == self._products_now]
        if same:
            stay = min(same, key=turn)
            if turn(stay)[0] < turn(best)[0] + 0.2:
                return stay
        self._products_now = best.family.product
        return best

    def _sample(self, design, dims):
        for attempt in (0, 1):
            try:
                rows, mixed = self._measure(design.family, dims, design.done if design.settles() else None)
                break
            except Exception as error:  # a library fails in its own way; the other operators go on
                reason = "out of memory" if is_out_of_memory(error) else first_line(error)
            if self._device.type == "cuda":
                torch.cuda.empty_cache()
            if attempt or reason != "out of memory":
                return self._skip(design, dims, reason)
        if not rows:
            return design.skip(dims)
        self.table.append(rows)
        if mixed:
            self.mixed.append(mixed)
        for row in rows:
            design.note(dims, row["pass"], float(row["us"]))

    def _skip(self, design, dims, reason):
        design.skip(dims)
        if reason != "out of memory" and design.skipped_in_a_row >= 5:  # it does not run here at all
            self._designs.remove(design)
            self.given_up.append(design.family.name)
        self._note_skipped(design.family, dims, reason)

    def _note_skipped(self, family, dims, reason):
        self.skipped += 1
        with open(self._skipped_path, "a") as file:
            file.write(f"{family.name} {dims_text(dims)}: {reason}\n")

    def _measure(self, family, dims, settles):
        """Rows of all passes, and of one of them mixed where it settles: `settles` is then how many shapes came
        before, from which the pass and the share follow."""
        timer, operands = self._timer, self._operands
        timer.keep_busy()
        operands.bytes = 0
        sets = [family.build(operands, dims)]
        # As many sets of operands as it takes to read none of them from the cache.
        copies = max(1, min(16, math.ceil(2 * timer.cache_bytes / max(operands.bytes, 1))))
        sets += [family.build(operands, dims) for _ in range(copies - 1)]
        rows, mixed = [], []
        share = 1.0 if family.product else self._options.share
        passes = list(sets[0])
        # Now and then one pass until its clock has settled, alone and with memory-bound work between.
        turn = None if settles is None else settles // SETTLED_EVERY
        settled = None if turn is None else passes[turn % len(passes)]
        for which in passes:
            calls = [one[which] for one in sets]
            alone = self._steady_row(family, dims, which, calls, share, which == settled)
            rows += alone
            if which == settled and alone:
                mixed_share = MIXED_SHARES[turn // len(passes) % len(MIXED_SHARES)]
                mixed += self._steady_row(family, dims, which, calls, mixed_share, True)
        return rows, mixed

    def _steady_row(self, family, dims, which, calls, share, settled):
        """A row, or none where even with the host further ahead the times scatter."""
        timing = self._timer.measure(calls, family.product, share, settled=settled)
        if timing.spread > self._timer.unsteady:
            timing = self._timer.measure(calls, family.product, share, lead=4, settled=settled)
        if timing.spread > self._timer.unsteady:
            self._note_skipped(family, dims, f"{which}: unsteady, spread {timing.spread:.2f}")
            return []
        return [self._row(family, dims, which, timing)]

    def _row(self, family, dims, which, timing):
        return {"operator": family.operator, "impl": family.impl, "pass": which, "dtype": self._dtype_of(family),
                "dims": dims_text(dims), "us": digits(timing.us, 5), "spread": digits(timing.spread, 2),
                "host_us": digits(timing.host_us, 3), "clock": digits(timing.clock, 4),
                "power": digits(timing.power, 3),
                "limit": digits(timing.limit, 3), "throttle": timing.throttle, "share": digits(timing.share, 2),
                "loop_s": digits(timing.loop_s, 2)}


def count_launches(families, limits, operands, seed):
    """Kernels, copies and fills of each pass, as the profiler sees them on one shape of a family."""
    from torch.profiler import ProfilerActivity, profile
    counts = {}
    for family in families:
        design = Design(family, limits, seed, [])
        dims = next(d for d in (design.next() for _ in range(50)) if d)
        try:
            for which, call in family.build(operands, dims).items():
                for _ in range(3):
                    call()
                torch.cuda.synchronize()
                with profile(activities=[ProfilerActivity.CUDA]) as prof:
                    call()
                    torch.cuda.synchronize()
                counts[f"{family.name} {which}"] = sum(
                    1 for event in prof.events() if str(event.device_type).endswith("CUDA"))
        except Exception as error:  # a library fails in its own way
            sys.stderr.write(f"{family.name}: launches not counted: {first_line(error)}\n")
    return {name: count for name, count in counts.items() if count}


# ---------------------------------------------------------------------------------------------------------
# Collectives
# ---------------------------------------------------------------------------------------------------------

def collective_calls(dist, group, members, rank, device):
    """name -> make(bytes): a call without arguments on buffers of that size. `bytes` as in the table's page."""
    ranks, me = len(members), members.index(rank)

    def buffer(count):
        return torch.randn(max(1, count), device=device)

    def all_reduce(size):
        x = buffer(size // 4)
        return lambda: dist.all_reduce(x, group=group)

    def broadcast(size):
        x = buffer(size // 4)
        return lambda: dist.broadcast(x, src=members[0], group=group)

    def all_gather(size):
        part = buffer(size // 4 // ranks)
        if hasattr(dist, "all_gather_into_tensor") and device.type == "cuda":
            whole = buffer(part.numel() * ranks)
            return lambda: dist.all_gather_into_tensor(whole, part, group=group)
        parts = [torch.empty_like(part) for _ in range(ranks)]
        return lambda: dist.all_gather(parts, part, group=group)

    def reduce_scatter(size):
        part = buffer(size // 4 // ranks)
        if hasattr(dist, "reduce_scatter_tensor") and device.type == "cuda":
            whole = buffer(part.numel() * ranks)
            return lambda: dist.reduce_scatter_tensor(part, whole, group=group)
        parts = [torch.randn_like(part) for _ in range(ranks)]
        return lambda: dist.reduce_scatter(part, parts, group=group)

    def all_to_all(size):
        given = buffer(size // 4 // ranks * ranks)
        taken = torch.empty_like(given)
        return lambda: dist.all_to_all_single(taken, given, group=group)

    def send_receive(size):  # each rank to the next; with two ranks from one to the other
        x, y = buffer(size // 4), buffer(size // 4)
        after, before = members[(me + 1) % ranks], members[(me - 1) % ranks]
        if ranks == 2:
            return lambda: dist.send(x, after, group=group) if me == 0 else dist.recv(y, before, group=group)

        def ring():
            for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, x, after, group=group),
                                                dist.P2POp(dist.irecv, y, before, group=group)]):
                work.wait()
        return ring

    return {"all_reduce": all_reduce, "all_gather": all_gather, "reduce_scatter": reduce_scatter,
            "all_to_all": all_to_all, "broadcast": broadcast, "send_receive": send_receive}


def collective_groups(world, a_node):
    """Ranks of each layout worth timing: growing within a node, then over nodes; one rank a node, too."""
    groups = []
    size = 2
    while size < world:
        if size <= a_node or size % a_node == 0:
            groups.append(list(range(size)))
        size *= 2
    groups.append(list(range(world)))
    if 1 < a_node < world:
        groups.append(list(range(0, world, a_node)))
    return groups


def time_collective(call, dist, device, deadline):
    """Seconds a repeat until every rank has its result: the slowest rank's, after a barrier."""
    times = []
    for repeat in range(12):
        dist.barrier()
        if device.type == "cuda":
            torch.cuda.synchronize()
        began = time.perf_counter()
        if call:
            call()
        if device.type == "cuda":
            torch.cuda.synchronize()
        slowest = torch.tensor([time.perf_counter() - began if call else 0.0,
                                float(time.monotonic() > deadline)], dtype=torch.float64, device=device)
        dist.all_reduce(slowest, op=dist.ReduceOp.MAX)
        if repeat >= 2:  # the first two connect
            times.append(slowest[0].item())
        if len(times) >= 3 and (slowest[1].item() or sum(times) > 0.5):
            break
    return times


def sample_collectives(options, device):
    import torch.distributed as dist
    if "RANK" not in os.environ:
        raise BadInput("--collectives: found no ranks, expected to be started by torchrun "
                       "(torchrun --nproc-per-node=8 foretrain_sample.py --collectives -o samples/)")
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    try:
        if world < 2:
            raise BadInput("--collectives: found one rank, expected two or more")
        a_node = int(os.environ.get("LOCAL_WORLD_SIZE", world))
        status = [""]
        table = None
        if rank == 0:
            try:
                table = Table(os.path.join(options.output, "collectives.csv"), COLLECTIVE_COLUMNS)
            except BadInput as error:
                status = [str(error)]
        dist.broadcast_object_list(status)
        if status[0]:
            raise BadInput(status[0])
        run_collectives(options, device, dist, table, rank, world, a_node)
    finally:
        dist.destroy_process_group()


def run_collectives(options, device, dist, table, rank, world, a_node):
    deadline = time.monotonic() + options.minutes * 60
    progress, before = Progress(options.minutes * 60), len(table.rows) if table else 0
    done = [{tuple(row[c] for c in COLLECTIVE_COLUMNS[:4]) for row in table.rows} if table else None]
    dist.broadcast_object_list(done)
    largest = 2 ** 14 if options.tiny else 2 ** 30
    sizes, size = [], 1024 if options.tiny else 8192
    while size <= largest:
        sizes.append(size)
        size *= 4
    # Coarse first, then the sizes between, so that a short budget covers the range.
    sizes = sizes[::3] + sizes[1::3] + sizes[2::3]
    groups = [(dist.new_group(ranks), ranks) for ranks in collective_groups(world, a_node)]
    unsupported = set()
    for size in sizes:
        for group, ranks in groups:
            here = rank in ranks
            per_node = max(sum(1 for r in ranks if r // a_node == ranks[0] // a_node), 1)
            makers = collective_calls(dist, group, ranks, rank, device) if here else {}
            for name in ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "send_receive"):
                size_here = size // (4 * len(ranks)) * 4 * len(ranks)
                key = (name, str(size_here), str(len(ranks)), str(per_node))
                over = torch.tensor([float(time.monotonic() > deadline)], device=device)
                dist.all_reduce(over, op=dist.ReduceOp.MAX)
                if over.item():
                    return end_collectives(options, progress, table, before, unsupported)
                if key in done[0] or name in unsupported or not size_here:
                    continue
                call, failed = None, 0.0
                if here:
                    try:
                        call = makers[name](size_here)
                        call()
                    except (RuntimeError, NotImplementedError, MemoryError) as error:
                        call, failed = None, 1.0
                        if rank == 0:
                            sys.stderr.write(f"{name}: left out: {first_line(error)}\n")
                flag = torch.tensor([failed], device=device)
                dist.all_reduce(flag, op=dist.ReduceOp.MAX)
                if flag.item():
                    unsupported.add(name)
                    continue
                times = time_collective(call, dist, device, deadline)
                if table:
                    table.append([dict(zip(COLLECTIVE_COLUMNS, key), us=digits(median(times) * 1e6, 5),
                                       spread=digits(relative_spread(times), 2),
                                       source=f"foretrain_sample {dist.get_backend()}")])
                    progress.show(len(table.rows) - before, f"{name} {size_here}")
    end_collectives(options, progress, table, before, unsupported)


def end_collectives(options, progress, table, before, unsupported):
    if table:
        progress.end()
        left_out = f"; left out: {' '.join(sorted(unsupported))}" if unsupported else ""
        print(f"{table.path}: {len(table.rows)} samples ({len(table.rows) - before} new){left_out}")


# ---------------------------------------------------------------------------------------------------------
# The command line
# ---------------------------------------------------------------------------------------------------------

def parse(arguments):
    options = command_line().parse_args(arguments)
    Options.compile = options.compile
    if not options.list and not options.output:
        raise BadInput("-o: found nothing, expected a folder for the samples")
    if not 0 < options.minutes <= 10000:
        raise BadInput(f"--minutes: found {options.minutes:g}, expected a number above 0, at most 10000")
    if not 0.05 <= options.share <= 0.95:
        raise BadInput(f"--share: found {options.share:g}, expected a number from 0.05 to 0.95")
    if options.seed < 0:
        raise BadInput(f"--seed: found {options.seed}, expected a whole number from 0")
    return options


def nearest(word, words):
    import difflib
    found = difflib.get_close_matches(word, words, 1)
    return f"; did you mean {found[0]}?" if found else ""


def chosen_families(options):
    return [family for family in families_by_operator(options) if family in families_by_format(options)]


def families_by_format(options):
    if not options.formats:
        return FAMILIES
    known = sorted({family.dtype for family in FAMILIES} - {""})
    words = [word.strip() for word in options.formats.split(",")]
    for word in words:
        if word not in known:
            raise BadInput(f"--formats: found '{word}', expected some of {' '.join(known)}{nearest(word, known)}")
    return [family for family in FAMILIES if family.dtype in words]


def families_by_operator(options):
    if not options.operators:
        return FAMILIES
    known = sorted({family.operator for family in FAMILIES} | {family.name for family in FAMILIES})
    words = [word.strip() for word in options.operators.split(",")]
    for word in words:
        if word not in known:
            raise BadInput(f"--operators: found '{word}', expected some of {' '.join(known)}{nearest(word, known)}")
    return [family for family in FAMILIES if family.operator in words or family.name in words]


def the_device(options):
    try:
        device = torch.device(options.device)
    except RuntimeError:
        raise BadInput(f"--device: found '{options.device}', expected cuda, cuda:1 or cpu") from None
    if device.type == "cpu":
        return device
    if device.type != "cuda":
        raise BadInput(f"--device: found '{options.device}', expected cuda, cuda:1 or cpu")
    if not torch.cuda.is_available():
        raise BadInput(f"no CUDA GPU: PyTorch {torch.__version__} sees none (--device cpu --tiny tries the sampler "
                       "without one)")
    index = device.index if device.index is not None else int(os.environ.get("LOCAL_RANK", 0))
    if index >= torch.cuda.device_count():
        raise BadInput(f"--device: found {options.device}, expected one of {torch.cuda.device_count()} GPUs")
    torch.cuda.set_device(index)
    return torch.device("cuda", index)


def note_session(options, timer, sampler, seconds):
    """Software and GPU of a run: what the samples are true of."""
    about = {"torch": torch.__version__, "python": sys.version.split()[0],
             "date": time.strftime("%Y-%m-%d", time.gmtime()), "seed": options.seed, "share": options.share,
             "dtype": options.dtype, "new_samples": sampler.new, "skipped": sampler.skipped,
             "seconds": round(seconds, 1), "samples_by_minute": list(sampler.by_minute.values()),
             "seconds_by_operator": {name: round(s, 1) for name, s in sampler.seconds.items()}, **timer.describe()}
    with open(os.path.join(options.output, "sessions.jsonl"), "a") as file:
        file.write(json.dumps(about) + "\n")


def list_families(families):
    for family in families:
        missing = family.missing()
        print(f"{family.operator:<18}{family.impl:<12}{'left out: ' + missing if missing else 'sampled'}")


def sample_operators(options, device):
    families = [family for family in chosen_families(options) if not family.missing()]
    if not families:
        raise BadInput("--operators: none of these can run here; --list says why")
    if not options.resume and os.path.exists(os.path.join(options.output, "operators.csv")):
        raise BadInput(f"{options.output}: holds samples; leave --no-resume away, or take another folder")
    began = time.monotonic()
    Table(os.path.join(options.output, "operators.csv"), COLUMNS)  # a folder that cannot be used: known at once
    if options.launches:
        if device.type != "cuda":
            raise BadInput("--launches: found no GPU, expected one: its profiler counts")
        operands = Operands(device, DTYPES[options.dtype], 2 ** 34)
        counts = count_launches(families, Limits(options.tiny), operands, options.seed)
        with open(os.path.join(options.output, "launches.json"), "w") as file:
            json.dump(counts, file, indent=1)
        print(f"{options.output}: launches of {len(counts)} passes")
        return
    timer = CudaTimer(device) if device.type == "cuda" else CpuTimer()
    sampler = Sampler(options, families, timer, device)
    progress = Progress(options.minutes * 60)
    try:
        sampler.run(began + options.minutes * 60 - 0.5 * (device.type == "cuda"), progress)
        stopped = ""
    except KeyboardInterrupt:
        stopped = "stopped: "
    progress.end()
    note_session(options, timer, sampler, time.monotonic() - began)
    notes = [f"{sampler.skipped} skipped (skipped.txt)"] if sampler.skipped else []
    notes += ["do not run here: " + ", ".join(sampler.given_up)] if sampler.given_up else []
    notes += ["no new shapes: " + ", ".join(sampler.used_up)] if sampler.used_up else []
    print("; ".join([f"{stopped}{options.output}: {len(sampler.table.rows)} samples and {len(sampler.mixed.rows)} "
                     f"mixed ones ({sampler.new} new) of {len(families)} operators and implementations", *notes]))


def main(arguments=None):
    try:
        options = parse(arguments)
        if options.list:
            return list_families(chosen_families(options))
        device = the_device(options)
        torch.manual_seed(options.seed)
        warnings.filterwarnings("ignore")  # of PyTorch, about its own insides
        if options.collectives:
            sample_collectives(options, device)
        else:
            sample_operators(options, device)
    except BadInput as error:
        sys.stderr.write(f"foretrain_sample: error: {error}\n")
        sys.exit(2)


if __name__ == "__main__":
    main()
