"""Tests of foretrain_sample.py without a GPU: Debian's PyTorch is enough.

    FORETRAIN=build/release/foretrain /usr/bin/python3 sampler/test_sampler.py

Without FORETRAIN the program does not read what the sampler writes. Exit status 77: no PyTorch, skipped."""

import contextlib
import io
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest

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
        self.assertEqual({s["head_dim"] for s in shapes}, set(sampler.HEAD_DIMS))
        self.assertTrue(all(s["heads"] % s["kv_heads"] == 0 for s in shapes))
        self.assertTrue(any(s["kv_heads"] < s["heads"] for s in shapes))

    def test_all_shapes_are_whole_positive_numbers(self):
        for tiny in (False, True):
            limits = sampler.Limits(tiny)
            for family in sampler.FAMILIES:
                drawn = [family.draw(sampler.halton(i, 6, 5), limits) for i in range(200)]
                self.assertTrue(any(drawn), family.name)
                for dims in filter(None, drawn):
                    self.assertTrue(all(isinstance(v, int) and v >= 1 for v in dims.values()), (family.name, dims))

    def test_tensors_of_an_optimizer_share_its_parameters_evenly(self):
        limits = sampler.Limits(tiny=False)
        for i in range(300):
            dims = sampler.draw_states(sampler.halton(i, 6, 1), limits)
            self.assertEqual(dims["parameters"] % dims["tensors"], 0)


class Choice(unittest.TestCase):
    def family(self):
        return next(f for f in sampler.FAMILIES if f.name == "linear aten")

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


class Files(InFolder):
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
            self.assertEqual(row["dtype"], "bf16")
        self.assertEqual({row["pass"] for row in rows if row["operator"] == "linear" and row["impl"] == "aten"},
                         {"fwd", "dgrad", "wgrad"})
        self.assertTrue(all(float(row["share"]) < 1 for row in self.rows("mixed/operators.csv")))

    def test_a_second_run_appends_new_shapes(self):
        self.sample("--operators", "linear")
        first = self.rows()
        self.sample("--operators", "linear")
        both = self.rows()
        self.assertEqual(both[:len(first)], first)
        self.assertGreater(len(both), len(first))
        keys = [(row["impl"], row["pass"], row["dims"]) for row in both]
        self.assertEqual(len(set(keys)), len(keys))

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
        self.sample("--operators", "copy", "--seed", "4")
        first = [row["dims"] for row in self.rows()][:4]
        os.remove(os.path.join(self.folder, "operators.csv"))
        self.sample("--operators", "copy", "--seed", "4")
        both = list(zip(first, [row["dims"] for row in self.rows()]))
        self.assertTrue(both and all(a == b for a, b in both))

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

    def test_the_program_reads_our_samples_of_an_h200(self):
        for table in ("operators.csv", "mixed/operators.csv"):
            path = os.path.join(HERE, "..", "profiles", "h200-141gb-sxm", "samples", table)
            read = subprocess.run([PROGRAM, "cost", path, "--profile", "h200-141gb-sxm"], text=True,
                                  capture_output=True)
            self.assertEqual(read.returncode, 0, read.stderr)


if __name__ == "__main__":
    unittest.main()
