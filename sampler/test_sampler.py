"""Tests of foretrain_sample.py without a GPU: Debian's PyTorch is enough.

    FORETRAIN=build/release/foretrain /usr/bin/python3 sampler/test_sampler.py

Without FORETRAIN the program does not read what the sampler writes. Exit status 77: no PyTorch, skipped."""

import contextlib
import importlib.util
import io
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

# Some virtual machines name AMX among what their processor has and then trap on its first instruction: PyTorch's
# bf16 products end there unless its library is told to leave those instructions alone.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE")
try:
    import torch
except ImportError:
    print("sampler tests skipped: this Python has no PyTorch (Debian: apt-get install python3-torch)")
    sys.exit(77)

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True
import foretrain_sample as sampler  # noqa: E402

torch.set_num_threads(1)  # several wait for each other on a busy machine
PROGRAM = os.environ.get("FORETRAIN", "")
SCRIPT = os.path.join(HERE, "foretrain_sample.py")
EXPERTS = ("grouped_product", "permute", "unpermute", "route")


def family(name):
    return next(f for f in sampler.FAMILIES if f.name == name)


def repository_text(*path):
    with open(os.path.join(HERE, "..", *path)) as file:
        return file.read()


def each_look_a_second():
    """A clock that goes on by a second whenever it is looked at: the same on a busy machine."""
    return mock.patch.object(sampler.time, "monotonic", iter(range(10 ** 6)).__next__)


class Given(sampler.Operands):
    """Operands in full precision that remembers what it gave, in order."""

    def __init__(self):
        super().__init__(torch.device("cpu"), torch.float32, 2 ** 24)
        self.given = []

    def of(self, *shape, **how):
        self.given.append(super().of(*shape, **how))
        return self.given[-1]


class InFolder(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="foretrain-sampler-")
        self.addCleanup(shutil.rmtree, self.folder)

    def run_main(self, *arguments):
        """(exit status, stdout, stderr) of a run in this process."""
        out, err, status = io.StringIO(), io.StringIO(), 0
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                sampler.main(list(arguments))
            except SystemExit as end:
                status = end.code
        return status, out.getvalue(), err.getvalue()

    def sample(self, *more, seconds=0.5):
        status, out, err = self.run_main("--device", "cpu", "--tiny", "--minutes", str(seconds / 60), "-o",
                                         self.folder, *more)
        self.assertEqual((status, err), (0, ""))
        return out

    def rows(self, name="operators.csv"):
        with open(os.path.join(self.folder, name)) as file:
            lines = file.read().splitlines()
        return [dict(zip(lines[0].split(","), line.split(","))) for line in lines[1:]]


class Shapes(unittest.TestCase):
    def test_a_halton_sequence_fills_every_half_of_every_axis_evenly(self):
        points = [sampler.halton(i, 6, seed=3) for i in range(360)]
        for axis in range(6):
            low = sum(1 for p in points if p[axis] < 0.5)
            self.assertAlmostEqual(low / 360, 0.5, delta=0.06)
            self.assertTrue(all(0 <= p[axis] < 1 for p in points))

    def test_two_seeds_give_two_orders_and_one_seed_always_the_same(self):
        self.assertEqual(sampler.halton(7, 4, 1), sampler.halton(7, 4, 1))
        self.assertNotEqual([sampler.halton(i, 2, 1) for i in range(4)], [sampler.halton(i, 2, 2) for i in range(4)])

    def test_products_cover_tokens_and_widths_and_respect_the_most_operations(self):
        limits = sampler.Limits(tiny=False)
        shapes = [sampler.draw_linear(sampler.halton(i, 6, 1), limits) for i in range(2000)]
        shapes = [s for s in shapes if s]
        self.assertGreater(len(shapes), 1500)
        self.assertTrue(all(2 * s["m"] * s["k"] * s["n"] <= limits.flops for s in shapes))
        self.assertTrue(all(s["m"] >= 512 for s in shapes))
        self.assertGreater(max(s["m"] for s in shapes), 60000)
        self.assertGreater(max(s["n"] for s in shapes), 200000)  # heads
        odd = sum(1 for s in shapes if s["k"] % 8 or s["n"] % 8)
        self.assertTrue(0.05 < odd / len(shapes) < 0.35)

    def test_every_usual_head_dim_and_grouped_queries_come_early(self):
        limits = sampler.Limits(tiny=False)
        shapes = [sampler.draw_attention(sampler.halton(i, 6, 1), limits) for i in range(150)]
        shapes = [s for s in shapes if s]
        drawn = [s["head_dim"] for s in shapes]
        self.assertLessEqual(set(sampler.HEAD_DIMS), set(drawn))
        uneven = sum(d in sampler.UNEVEN_HEAD_DIMS for d in drawn) / len(drawn)
        self.assertTrue(0.05 < uneven < 0.25, uneven)  # one in eight
        self.assertTrue(all(s["heads"] % s["kv_heads"] == 0 for s in shapes))
        self.assertTrue(any(s["kv_heads"] < s["heads"] for s in shapes))

    def test_all_shapes_are_whole_positive_numbers(self):
        for tiny in (False, True):
            limits = sampler.Limits(tiny)
            for family in sampler.FAMILIES:
                drawn = [family.draw(sampler.halton(i, 6, 5), limits) for i in range(200)]
                self.assertTrue(any(drawn), family.name)
                for dims in filter(None, drawn):
                    self.assertTrue(all(isinstance(v, int) and v >= (name != "causal") for name, v in dims.items()), (family.name, dims))

    def test_tensors_of_an_optimizer_share_its_parameters_evenly(self):
        limits = sampler.Limits(tiny=False)
        for i in range(300):
            dims = sampler.draw_states(sampler.halton(i, 6, 1), limits)
            self.assertEqual(dims["parameters"] % dims["tensors"], 0)


    def test_tokens_of_the_first_shapes_are_distinct_and_cover_the_range(self):
        # Four in a row once had the same tokens, so that 40 shapes knew ten token counts.
        limits = sampler.Limits(tiny=False)
        for name in ("linear aten", "add aten", "permute eager", "route eager", "grouped_product eager"):
            design = sampler.Design(family(name), limits, 1, [])
            shapes = [design.next() for _ in range(40)]
            tokens = [shape.get("tokens", shape.get("m")) for shape in shapes]
            self.assertGreater(len(set(tokens)), 32, name)
            self.assertLess(min(tokens), 1024, name)
            self.assertGreater(max(tokens), 32768, name)
            between = sum(1 for t in tokens if 2048 <= t < 16384)  # three of seven octaves
            self.assertTrue(8 <= between <= 28, (name, between))

    def test_experts_have_rows_to_share_and_a_router_more_of_them_than_it_takes(self):
        limits = sampler.Limits(tiny=False)
        for i in range(400):
            u = sampler.halton(i, 6, 1)
            shape = sampler.draw_experts(u, limits)
            if shape:
                self.assertGreaterEqual(shape["m"], shape["experts"])
                self.assertLessEqual(2 * shape["m"] * shape["k"] * shape["n"], limits.flops)
            shape = sampler.draw_route(u, limits)
            self.assertGreaterEqual(shape["experts"], shape["top_k"])


class Words(unittest.TestCase):
    """What the sampler writes is in the words of the program."""

    def names_of(self, array):
        header = repository_text("src", "spec", "operator_kind.h")
        found = re.search(array + r"\s*=\s*\{(.*?)\}", header, re.S)
        return set(re.findall(r'"([^"]+)"', found.group(1)))

    def test_operators_and_implementations_are_those_of_the_vocabulary(self):
        kinds, impls = self.names_of("kOperatorKindNames"), self.names_of("kImplNames")
        self.assertLessEqual({f.operator for f in sampler.FAMILIES}, kinds | {"gelu_tanh"})
        self.assertLessEqual({f.impl for f in sampler.FAMILIES}, impls | {"fp32"})  # the latter of cross_entropy
        self.assertLessEqual(set(EXPERTS), {f.operator for f in sampler.FAMILIES} & kinds)

    def test_sizes_have_the_names_of_the_page_of_the_format(self):
        page = repository_text("docs", "formats", "samples.md").split("| operators | sizes |")[1].split("\n\n")[0]
        sizes = {}
        for line in page.splitlines()[2:]:
            cells = line.split("|")
            for word in re.findall(r"[a-z_]+", cells[1]):
                sizes[word] = re.search(r"`([^`]+)`", cells[2]).group(1).split()
        self.assertEqual(sizes["route"], ["tokens", "experts", "top_k"])
        self.assertIn("others", sizes)
        for f in sampler.FAMILIES:
            dims = next(filter(None, (f.draw(sampler.halton(i, 6, 1), sampler.Limits(False)) for i in range(50))))
            self.assertEqual(sorted(dims), sorted(sizes.get(f.operator, sizes["others"])), f.name)
            self.assertEqual(sampler.sizes_of(sampler.dims_text(dims)), dims)

    def test_columns_are_those_of_the_page_of_the_format(self):
        self.assertIn(",".join(sampler.COLUMNS) + "\n", repository_text("docs", "formats", "samples.md"))


class Passes(unittest.TestCase):
    """What a call computes: that of the operator whose name it carries."""

    def same(self, got, expected):
        self.assertEqual(got.shape, expected.shape)
        self.assertTrue(torch.allclose(got, expected, rtol=1e-4, atol=1e-4))

    def test_grouped_products_are_a_linear_an_expert_over_its_rows(self):
        o, d = Given(), {"experts": 6, "m": 40, "k": 8, "n": 24}
        with mock.patch.object(sampler, "routed_rows", return_value=([7, 0, 12, 1, 20, 0], None)):
            passes = family("grouped_product eager").build(o, d)
        x, dy, w = o.given
        self.assertEqual([tuple(t.shape) for t in (x, w, dy)], [(40, 8), (6, 24, 8), (40, 24)])
        expert = torch.tensor([0] * 7 + [2] * 12 + [3] + [4] * 20)
        self.same(torch.cat(passes["fwd"]()), torch.stack([w[e] @ row for e, row in zip(expert, x)]))
        self.same(torch.cat(passes["dgrad"]()), torch.stack([row @ w[e] for e, row in zip(expert, dy)]))
        self.same(torch.stack(passes["wgrad"]()),
                  torch.stack([dy[expert == e].t() @ x[expert == e] for e in (0, 2, 3, 4)]))  # two have no row

    def test_rows_are_routed_at_random_and_each_to_one_expert(self):
        torch.manual_seed(3)
        counts, ends = sampler.routed_rows(Given(), 8000, 8)
        self.assertEqual((sum(counts), len(counts)), (8000, 8))
        self.assertEqual(ends.tolist(), [sum(counts[:i + 1]) for i in range(8)])
        self.assertEqual(ends.dtype, torch.int32)  # what torch._grouped_mm wants
        # 1000 each in the mean, by chance 30 more or less (binomial): not all alike, none far off.
        self.assertGreater(len(set(counts)), 1)
        self.assertTrue(all(abs(count - 1000) < 200 for count in counts), counts)

    def test_unpermute_after_permute_gives_each_token_as_often_as_it_was_sent(self):
        d = {"tokens": 12, "width": 16, "top_k": 4}
        order = sampler.expert_order(Given(), d)
        token = order // 4  # of each row, in the order of experts
        self.assertEqual(torch.bincount(token).tolist(), [4] * 12)
        self.assertNotEqual(token.tolist(), sorted(token.tolist()))
        with mock.patch.object(sampler, "expert_order", return_value=order):
            o = Given()
            permute = family("permute eager").build(o, d)
            x, given = o.given
            o = Given()
            unpermute = family("unpermute eager").build(o, d)
        rows, weights, dy = o.given
        with torch.no_grad():
            moved = permute["fwd"]()
            self.same(moved, x[token])
            rows.copy_(moved)
            weights.fill_(1)
            self.same(unpermute["fwd"](), 4 * x)
        # Backward, on gradients of their own: of a token the sum over its rows.
        self.same(permute["bwd"]()[0], torch.zeros(12, 16).index_add(0, token, given))
        o = Given()
        with mock.patch.object(sampler, "expert_order", return_value=order):
            of_rows, of_weights = family("unpermute eager").build(o, d)["bwd"]()
        rows, weights, dy = o.given
        self.same(of_rows, dy[token] * weights)
        self.same(of_weights, (dy[token] * rows).sum(1, keepdim=True))

    def test_a_router_gives_each_token_weights_that_add_to_one(self):
        o = Given()
        passes = family("route eager").build(o, {"tokens": 10, "experts": 8, "top_k": 2})
        weights = passes["fwd"]()
        best = torch.softmax(o.given[0], -1).topk(2).values
        # In the order of experts.
        self.same(weights.sort().values, (best / best.sum(-1, keepdim=True)).reshape(-1).sort().values)
        self.assertEqual(passes["bwd"]()[0].shape, (10, 8))


class Compiled(unittest.TestCase):
    def fresh(self):
        """A sampler that has compiled nothing yet."""
        spec = importlib.util.spec_from_file_location("fresh_sampler", SCRIPT)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def check_bias_gelu(self, fresh):
        build = next(f for f in fresh.FAMILIES if f.name == "bias_gelu fused").build
        o = Given()
        build(o, {"tokens": 16, "width": 8})
        del o.given[:]
        passes = build(o, {"tokens": 24, "width": 8})
        x, b, dy = o.given
        bias = b.detach().clone().requires_grad_()
        y = torch.nn.functional.gelu(x + bias, approximate="tanh")
        self.assertTrue(torch.allclose(passes["fwd"](), y, atol=1e-4))
        summed = passes["bwd"]()
        self.assertEqual(summed.shape, (8,))
        self.assertTrue(torch.allclose(summed, torch.autograd.grad(y, bias, dy)[0], atol=1e-3))

    def test_the_gradient_of_a_bias_is_summed_over_tokens_and_kernels_are_made_for_each_shape(self):
        fresh, made = self.fresh(), []

        def as_written(what):
            made.append(tuple(what[1][0].shape))
            return what[0]
        with mock.patch.object(fresh, "compile_for", as_written):
            self.check_bias_gelu(fresh)
            build = next(f for f in fresh.FAMILIES if f.name == "bias_gelu fused").build
            build(Given(), {"tokens": 24, "width": 8})  # another set of operands of a shape is not compiled again
        self.assertEqual(made, [(16, 8), (24, 8)])

    @unittest.skipUnless(hasattr(torch, "compile"), "this PyTorch has no compile")
    def test_a_compiled_kernel_computes_the_same(self):
        self.check_bias_gelu(self.fresh())


class Choice(unittest.TestCase):
    def family(self):
        return family("linear aten")

    def test_a_design_resumed_after_many_shapes_goes_on_with_new_ones(self):
        # More than 400 shapes once ended an operator: as many tries found nothing new.
        limits = sampler.Limits(tiny=False)
        for name in ("linear aten", "attention sdpa", "grouped_product aten", "route eager", "adamw eager"):
            first = sampler.Design(family(name), limits, 1, [])
            rows = []
            while len(rows) < 900:
                dims = first.next()
                self.assertIsNotNone(dims, (name, len(rows)))
                first.note(dims, "dgrad", 10.0)  # a pass that the model of what is unsure does not look at
                rows.append({"dims": sampler.dims_text(dims), "pass": "dgrad", "us": "10"})
            second = sampler.Design(family(name), limits, 1, rows)
            self.assertEqual(second.done, 900)
            taken = {row["dims"] for row in rows}
            for _ in range(20):
                dims = second.next()
                self.assertIsNotNone(dims, name)
                self.assertNotIn(sampler.dims_text(dims), taken)
                second.note(dims, "dgrad", 10.0)

    def test_a_small_space_of_shapes_ends_and_stays_ended_when_resumed(self):
        few = sampler.Family("add", "aten", 1, lambda u, limits: {"tokens": 8 + int(u[0] * 5), "width": 16}, None,
                             False, None)
        design, rows = sampler.Design(few, sampler.Limits(True), 1, []), []
        for dims in iter(design.next, None):
            self.assertLess(len(rows), 5)
            design.note(dims, "fwd", 1.0)
            rows.append({"dims": sampler.dims_text(dims), "pass": "fwd", "us": "1"})
        self.assertEqual(len({row["dims"] for row in rows}), 5)
        self.assertIsNone(sampler.Design(few, sampler.Limits(True), 1, rows).next())

    def test_a_resumed_design_repeats_no_shape(self):
        limits = sampler.Limits(tiny=False)
        first = sampler.Design(self.family(), limits, 1, [])
        rows = []
        for _ in range(40):
            dims = first.next()
            first.note(dims, "fwd", 10.0)
            rows.append({"dims": sampler.dims_text(dims), "pass": "fwd", "us": "10"})
        self.assertEqual(len({row["dims"] for row in rows}), 40)
        second = sampler.Design(self.family(), limits, 1, rows)
        self.assertEqual(second.done, 40)
        for _ in range(40):
            dims = second.next()
            self.assertNotIn(sampler.dims_text(dims), {row["dims"] for row in rows})
            second.note(dims, "fwd", 10.0)

    def test_the_model_is_less_sure_far_from_samples_and_where_neighbours_disagree(self):
        model = sampler.Neighbours()
        for i in range(8):
            model.add({"tokens": 1024 << (i % 4), "width": 1024}, 1.0 + 0.69 * (i % 4))
        near, far = {"tokens": 2048, "width": 1024}, {"tokens": 2048, "width": 16384}
        self.assertGreater(model.unsure(far), model.unsure(near))
        before = model.unsure(near)
        model.add({"tokens": 2048, "width": 1088}, 4.0)
        self.assertGreater(model.unsure(near), before)


class Settling(sampler.CpuTimer):
    """Says how long a GPU's loops are, and what it was asked."""

    def measure(self, calls, product, share, lead=1.3, settled=False):
        calls[0]()
        return sampler.Timing(5.0, 0.01, 1.0, share=share, loop_s=1.2 if settled else 0.045)


class Files(InFolder):
    def check_pairs(self, rows):
        """Each mixed row is of a product that was also timed alone."""
        def key(row):
            return tuple(row[c] for c in ("operator", "impl", "pass", "dtype", "dims"))
        alone = {key(row) for row in rows if row["share"] == "1"}
        mixed = self.rows("mixed/operators.csv")
        self.assertGreater(len(mixed), 0)
        for row in mixed:
            self.assertLess(float(row["share"]), 1)
            self.assertIn(key(row), alone)
        return mixed

    def sampler_of(self, families, timer, *more):
        options = sampler.parse(["-o", self.folder, "--tiny", "--device", "cpu", *more])
        return sampler.Sampler(options, families, timer, torch.device("cpu"))

    def test_a_run_writes_rows_of_all_columns_for_all_operators(self):
        here = {f.operator for f in sampler.FAMILIES if not f.missing()}
        for _ in range(20):  # a busy machine needs more than one run
            out = self.sample(seconds=2)
            rows = self.rows()
            if {row["operator"] for row in rows} == here:
                break
        self.assertEqual({row["operator"] for row in rows}, here)
        self.assertIn(f"{len(rows)} samples", out)
        for row in rows:
            self.assertEqual(tuple(row), sampler.COLUMNS)
            self.assertGreater(float(row["us"]), 0)
            self.assertNotIn("e", row["us"])
            self.assertIn((row["dtype"], row["operator"]), {("bf16", row["operator"]), ("fp32", "linear")})
            self.assertGreater(float(row["loop_s"]), 0)
        self.assertEqual({row["pass"] for row in rows if row["operator"] == "linear" and row["impl"] == "aten"},
                         {"fwd", "dgrad", "wgrad"})
        self.check_pairs(rows)

    def test_a_second_run_appends_new_shapes(self):
        self.sample("--operators", "linear")
        first = self.rows()
        self.sample("--operators", "linear")
        both = self.rows()
        self.assertEqual(both[:len(first)], first)
        self.assertGreater(len(both), len(first))
        keys = [(row["impl"], row["pass"], row["dtype"], row["dims"]) for row in both]
        self.assertEqual(len(set(keys)), len(keys))

    def test_one_shape_of_a_product_in_eighteen_settles_alone_and_mixed(self):
        linear = family("linear aten")
        few = sampler.Family("linear", "aten", 1, lambda u, limits: linear.draw(u, sampler.Limits(False)),
                             lambda o, d: dict.fromkeys(("fwd", "dgrad", "wgrad"), lambda: None), True, None)
        run = self.sampler_of([few], Settling())
        design = run._designs[0]
        shapes = 7 * sampler.SETTLED_EVERY
        while design.done < shapes:
            run._sample(design, design.next())
        rows = self.rows()
        self.assertEqual(len(rows), 3 * shapes)
        settled = [i for i, row in enumerate(rows) if float(row["loop_s"]) > 0.8]
        self.assertEqual([i // 3 for i in settled], list(range(0, shapes, sampler.SETTLED_EVERY)))
        self.assertEqual([rows[i]["pass"] for i in settled], ["fwd", "dgrad", "wgrad"] * 2 + ["fwd"])
        mixed = self.check_pairs(rows)
        self.assertEqual([row["dims"] for row in mixed], [rows[i]["dims"] for i in settled])
        self.assertEqual([row["share"] for row in mixed], ["0.6"] * 3 + ["0.3"] * 3 + ["0.6"])
        self.assertTrue(all(row["loop_s"] == "1.2" for row in mixed))

    def test_what_is_no_product_never_settles(self):
        run = self.sampler_of([family("add aten")], Settling())
        for _ in range(3):
            run._sample(run._designs[0], run._designs[0].next())
        self.assertEqual({row["loop_s"] for row in self.rows()}, {"0.045"})
        self.assertEqual(self.rows("mixed/operators.csv"), [])

    def test_a_settled_row_that_is_left_out_leaves_no_mixed_one(self):
        class Restless(Settling):
            unsteady = 0.1

            def measure(self, calls, product, share, lead=1.3, settled=False):
                return sampler.Timing(5.0, 0.3 if settled and share == 1 else 0.01, 1.0, share=share)
        run = self.sampler_of([family("linear aten")], Restless())
        run._sample(run._designs[0], run._designs[0].next())
        self.assertEqual([row["pass"] for row in self.rows()], ["dgrad", "wgrad"])
        self.assertEqual(self.rows("mixed/operators.csv"), [])

    def test_what_would_end_after_the_deadline_does_not_begin_and_the_rest_goes_on(self):
        built = []

        def build(o, d):
            built.append(d)
            return {"fwd": lambda: None}
        slow = sampler.Family("gelu", "fused", 100, sampler.draw_pointwise, build, False, None, start_s=20)

        class Long(Settling):
            settled_pair_s = 2.4
        run = self.sampler_of([slow, family("linear aten"), family("add aten")], Long())
        run.run(time.monotonic() + 0.5, sampler.Progress(1))
        self.assertEqual(built, [])
        self.assertEqual({row["operator"] for row in self.rows()}, {"add"})
        run = self.sampler_of([slow, family("linear aten")], Long())
        with each_look_a_second():
            run.run(600, sampler.Progress(1))
        self.assertGreater(len(built), 0)
        self.assertEqual({row["operator"] for row in self.rows()}, {"add", "gelu", "linear"})

    def test_an_operator_that_is_always_skipped_leaves_time_to_others(self):
        def build(operands, dims):
            raise RuntimeError("CUDA out of memory. Tried to allocate 2 TiB")
        large = sampler.Family("linear", "aten", 100, lambda u, limits: sampler.draw_linear(u, sampler.Limits(False)),
                               build, False, None)
        run = self.sampler_of([large, family("add aten")], Settling())
        with each_look_a_second():
            run.run(300, sampler.Progress(1))
        self.assertGreater(run.skipped, 5)
        self.assertGreater(len(self.rows()), 0)

    def test_an_operator_that_fails_in_its_own_way_is_noted_and_named_at_the_end(self):
        def build(operands, dims):
            assert dims is None
        broken = sampler.Family("add", "fused", 100, sampler.draw_pointwise, build, False, None)
        with mock.patch.object(sampler, "FAMILIES", [broken, family("add aten")]):
            out = self.sample()
        self.assertIn("; 5 skipped (skipped.txt); do not run here: add fused", out)
        with open(os.path.join(self.folder, "skipped.txt")) as file:
            self.assertTrue(file.readline().endswith(": AssertionError\n"))
        self.assertEqual({row["impl"] for row in self.rows()}, {"aten"})

    def test_an_operator_without_new_shapes_is_named_at_the_end(self):
        one = sampler.Family("add", "aten", 1, lambda u, limits: {"tokens": 8, "width": 16},
                             family("add aten").build, False, None)
        with mock.patch.object(sampler, "FAMILIES", [one]):
            self.assertIn("; no new shapes: add aten", self.sample(seconds=5))  # ends when it has the shape

    def test_half_a_row_of_an_interrupted_run_is_cut_off(self):
        self.sample("--operators", "add")
        path = os.path.join(self.folder, "operators.csv")
        whole = len(self.rows())
        with open(path, "a") as file:
            file.write("add,aten,fwd,bf16,tokens=8 wid")
        self.sample("--operators", "add", seconds=0.2)
        self.assertGreaterEqual(len(self.rows()), whole)
        self.assertTrue(all(len(row) == len(sampler.COLUMNS) for row in self.rows()))

    def test_no_resume_refuses_a_folder_with_samples(self):
        self.sample("--operators", "add")
        status, _, err = self.run_main("--device", "cpu", "--tiny", "--no-resume", "-o", self.folder)
        self.assertEqual(status, 2)
        self.assertIn("holds samples", err)

    def test_the_order_of_shapes_follows_from_the_seed(self):
        orders = []
        for _ in range(2):
            self.sample("--operators", "copy", "--seed", "4")
            orders.append({impl: [row["dims"] for row in self.rows() if row["impl"] == impl][:4]
                           for impl in ("aten", "eager")})  # whose turn it is depends on the time left
            os.remove(os.path.join(self.folder, "operators.csv"))
        for impl in ("aten", "eager"):
            self.assertTrue(all(a == b for a, b in zip(orders[0][impl], orders[1][impl])))
        self.assertTrue(all(order["aten"] or order["eager"] for order in orders))

    def test_the_time_budget_is_kept(self):
        began = time.monotonic()
        self.sample(seconds=3)
        took = time.monotonic() - began
        self.assertTrue(2 < took < 8, took)  # a shape takes milliseconds, on a busy machine more

    def test_shapes_that_do_not_fit_are_noted_and_left_out(self):
        def build(operands, dims):
            raise RuntimeError("CUDA out of memory. Tried to allocate 2 TiB")
        family = sampler.Family("add", "aten", 1, sampler.draw_pointwise, build, False, None)
        options = sampler.parse(["-o", self.folder, "--tiny", "--device", "cpu"])
        run = sampler.Sampler(options, [family], sampler.CpuTimer(), torch.device("cpu"))
        run.run(time.monotonic() + 1, sampler.Progress(1))
        self.assertGreater(run.skipped, 0)
        self.assertEqual(run.new, 0)
        with open(os.path.join(self.folder, "skipped.txt")) as file:
            self.assertIn("out of memory", file.readline())

    def test_an_operator_that_never_runs_is_given_up(self):
        def build(operands, dims):
            raise RuntimeError("no kernel")
        family = sampler.Family("add", "aten", 1, sampler.draw_pointwise, build, False, None)
        options = sampler.parse(["-o", self.folder, "--tiny", "--device", "cpu"])
        run = sampler.Sampler(options, [family], sampler.CpuTimer(), torch.device("cpu"))
        began = time.monotonic()
        run.run(began + 30, sampler.Progress(1))
        self.assertLess(time.monotonic() - began, 10)
        self.assertEqual(run.skipped, 5)

    def test_a_pass_whose_times_scatter_is_timed_again_then_left_out(self):
        class Restless(sampler.CpuTimer):
            unsteady, leads = 0.1, []

            def measure(self, calls, product, share, lead=1.3, settled=False):
                self.leads.append(lead)
                return sampler.Timing(5.0, 0.3 if calls[0]() == "restless" else 0.01, 1.0, share=share)
        family = sampler.Family("add", "aten", 1, sampler.draw_pointwise,
                                lambda o, d: {"fwd": lambda: "calm", "bwd": lambda: "restless"}, False, None)
        options = sampler.parse(["-o", self.folder, "--tiny", "--device", "cpu"])
        run = sampler.Sampler(options, [family], Restless(), torch.device("cpu"))
        run.run(time.monotonic() + 0.5, sampler.Progress(1))
        self.assertEqual({row["pass"] for row in self.rows()}, {"fwd"})
        self.assertEqual(Restless.leads[:3], [1.3, 1.3, 4])


class Terminal(io.StringIO):
    def isatty(self):
        return True


class ProgressLine(unittest.TestCase):
    def shown(self, stream):
        with contextlib.redirect_stderr(stream):
            progress = sampler.Progress(90)
            progress.show(12, "linear aten")
        return stream.getvalue()

    def test_a_terminal_sees_samples_rate_and_time_left_and_a_pipe_nothing(self):
        line = self.shown(Terminal())
        self.assertIn("12 samples", line)
        self.assertIn("/s, 1:", line)
        self.assertIn("left  linear aten", line)
        self.assertEqual(self.shown(io.StringIO()), "")


class BadInput(InFolder):
    def refused(self, expected, *arguments):
        status, out, err = self.run_main(*arguments)
        self.assertEqual((status, out), (2, ""), err)
        self.assertTrue(err.startswith("foretrain_sample: error: "), err)
        self.assertEqual(err.count("\n"), 1)
        self.assertIn(expected, err)

    def test_options(self):
        self.refused("-o: found nothing")
        self.refused("--minutes: found 0", "--minutes", "0", "-o", self.folder)
        self.refused("--minutes", "--minutes", "soon", "-o", self.folder)
        self.refused("--minutes: found nan", "--minutes", "nan", "-o", self.folder)
        self.refused("--share: found 1.5", "--share", "1.5", "-o", self.folder)
        self.refused("--seed", "--seed", "-1", "-o", self.folder)
        self.refused("did you mean linear?", "--operators", "linaer", "--device", "cpu", "-o", self.folder)
        self.refused("--dtype", "--dtype", "int3", "-o", self.folder)
        self.refused("--device: found 'tpu9'", "--device", "tpu9", "-o", self.folder)
        self.refused("--frobnicate", "--frobnicate", "-o", self.folder)

    @unittest.skipIf(torch.cuda.is_available(), "there is a GPU")
    def test_no_gpu(self):
        self.refused("no CUDA GPU", "-o", self.folder)

    def test_launches_want_a_gpu(self):
        self.refused("--launches: found no GPU", "--launches", "--device", "cpu", "-o", self.folder)

    def test_collectives_want_torchrun(self):
        self.refused("torchrun", "--collectives", "--device", "cpu", "-o", self.folder)

    def test_a_folder_that_cannot_be_written(self):
        path = os.path.join(self.folder, "file")
        open(path, "w").close()
        self.refused("cannot be written", "--device", "cpu", "-o", os.path.join(path, "samples"))

    def test_a_table_of_other_columns(self):
        path = os.path.join(self.folder, "operators.csv")
        with open(path, "w") as file:
            file.write("operator,us\nadd,3\n")
        self.refused("operators.csv:1:1: found the columns", "--device", "cpu", "-o", self.folder)
        with open(path, "w") as file:
            file.write(",".join(sampler.COLUMNS) + "\nadd,3\n")
        self.refused("operators.csv:2:1: found 2 cells", "--device", "cpu", "-o", self.folder)

    def test_a_row_that_no_run_can_go_on_from(self):
        for dims, us in (("tokens", "3"), ("tokens=x width=8", "3"), ("tokens=0 width=8", "3"), ("", "3"),
                         ("tokens=8 width=8", "0"), ("tokens=8 width=8", "soon"), ("tokens=8 width=8", "nan")):
            row = dict(operator="add", impl="aten", dtype="bf16", dims=dims, us=us)
            row["pass"] = "fwd"
            with open(os.path.join(self.folder, "operators.csv"), "w") as file:
                file.write(",".join(sampler.COLUMNS) + "\n")
                file.write(",".join(row.get(c, "") for c in sampler.COLUMNS) + "\n")
            self.refused("operators.csv:2:1: found the dims", "--device", "cpu", "--tiny", "-o", self.folder)

    def test_a_list_needs_no_gpu(self):
        status, out, err = self.run_main("--list")
        self.assertEqual((status, err), (0, ""))
        self.assertIn("linear            aten        sampled", out)


class Collectives(InFolder):
    def two_ranks(self):
        """What torchrun does (Debian's does not start: its Python is newer): (statuses, stdout, stderr)."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = str(free.getsockname()[1])
        common = dict(os.environ, OMP_NUM_THREADS="1", WORLD_SIZE="2", LOCAL_WORLD_SIZE="2", MASTER_PORT=port,
                      MASTER_ADDR="127.0.0.1")
        ranks = [subprocess.Popen([sys.executable, SCRIPT, "--collectives", "--device", "cpu", "--tiny", "--minutes",
                                   "2", "-o", self.folder], text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, env=dict(common, RANK=str(i), LOCAL_RANK=str(i)))
                 for i in range(2)]
        said = [rank.communicate(timeout=120) for rank in ranks]
        return [rank.returncode for rank in ranks], "".join(s[0] for s in said), "".join(s[1] for s in said)

    def test_two_ranks_time_collectives_and_resume(self):
        statuses, _, err = self.two_ranks()
        self.assertEqual(statuses, [0, 0], err)
        rows = self.rows("collectives.csv")
        names = {row["collective"] for row in rows}
        self.assertLessEqual({"all_reduce", "all_gather", "broadcast", "send_receive"}, names)
        for row in rows:
            self.assertEqual((row["ranks"], row["ranks_per_node"]), ("2", "2"))
            self.assertGreater(float(row["us"]), 0)
            self.assertEqual(int(row["bytes"]) % 8, 0)
        statuses, out, err = self.two_ranks()
        self.assertEqual(statuses, [0, 0], err)
        self.assertIn("(0 new)", out)
        self.assertEqual(self.rows("collectives.csv"), rows)
        if PROGRAM:
            read = subprocess.run([PROGRAM, "fit", os.path.join(self.folder, "collectives.csv"), "--cluster",
                                   "perlmutter", "-o", os.path.join(self.folder, "fitted")],
                                  text=True, capture_output=True)
            self.assertNotRegex(read.stderr, r"collectives.csv:\d")  # what is wrong in a file names its line

    def test_groups_grow_within_a_node_then_over_nodes(self):
        self.assertEqual(sampler.collective_groups(2, 2), [[0, 1]])
        groups = sampler.collective_groups(16, 8)
        self.assertEqual([len(g) for g in groups], [2, 4, 8, 16, 2])
        self.assertEqual(groups[-1], [0, 8])


@unittest.skipUnless(PROGRAM, "no FORETRAIN in the environment")
class Program(InFolder):
    def test_the_program_reads_what_the_sampler_writes(self):
        self.sample(seconds=2)
        read = subprocess.run([PROGRAM, "cost", os.path.join(self.folder, "operators.csv"), "--profile",
                               "h200-141gb-sxm"], text=True, capture_output=True)
        self.assertEqual(read.returncode, 0, read.stderr)
        self.assertIn("linear", read.stdout)
        mixed = subprocess.run([PROGRAM, "cost", os.path.join(self.folder, "mixed", "operators.csv"), "--profile",
                                "h200-141gb-sxm"], text=True, capture_output=True)
        self.assertEqual(mixed.returncode, 0, mixed.stderr)

    def test_the_program_reads_operators_of_experts(self):
        for _ in range(20):  # a busy machine needs more than one run
            self.sample("--operators", ",".join(EXPERTS))
            if {row["operator"] for row in self.rows()} == set(EXPERTS):
                break
        for table in ("operators.csv", "mixed/operators.csv"):
            read = subprocess.run([PROGRAM, "cost", os.path.join(self.folder, table), "--profile",
                                   "h200-141gb-sxm"], text=True, capture_output=True)
            self.assertEqual(read.returncode, 0, read.stderr)
            for name in EXPERTS if table == "operators.csv" else EXPERTS[:1]:
                self.assertIn(name, read.stdout)

    def test_the_program_reads_our_samples_of_an_h200(self):
        for table in ("operators.csv", "mixed/operators.csv"):
            path = os.path.join(HERE, "..", "profiles", "h200-141gb-sxm", "samples", table)
            read = subprocess.run([PROGRAM, "cost", path, "--profile", "h200-141gb-sxm"], text=True,
                                  capture_output=True)
            self.assertEqual(read.returncode, 0, read.stderr)


if __name__ == "__main__":
    unittest.main()
