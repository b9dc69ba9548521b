"""The package on a built library: with FORETRAIN_LIBRARY=build/release/libforetrain.so and PYTHONPATH=python,
python3 -m unittest discover python/tests."""
import contextlib
import gc
import inspect
import io
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

import foretrain
from examples import RUN, run_threads

try:
    import pandas
except ImportError:
    pandas = None

ROOT = pathlib.Path(__file__).resolve().parents[2]
LLAMA = {"model_type": "llama", "hidden_size": 2048, "num_hidden_layers": 16, "num_attention_heads": 32,
         "num_key_value_heads": 8, "intermediate_size": 8192, "vocab_size": 128256, "tie_word_embeddings": True,
         "max_position_embeddings": 8192}
LARGE = {"model": "llama-3-70b", "cluster": "dgx-h100", "gpus": 2048, "global_batch": 4096}


class Predictions(unittest.TestCase):
    def test_keys_of_the_json_are_attributes_items_and_data(self):
        p = foretrain.predict(**RUN, plan={"tp": 2, "zero": 1})
        self.assertEqual(p.step_s, json.loads(p.json)["step_s"])
        self.assertEqual(p["step_s"], p.data["step_s"])
        self.assertEqual(p.run.plan.tp, 2)
        self.assertEqual(p.plan["dp"], 4)
        self.assertEqual(len(p.stages), 1)
        self.assertLess(p.step_low_s, p.step_s)
        self.assertAlmostEqual(sum(p.breakdown_s.data.values()), p.step_s)
        self.assertIn("mfu", dir(p))
        with self.assertRaisesRegex(AttributeError, "no 'stepp_s'; it has version, step_s"):
            p.stepp_s

    def test_a_plan_is_words_a_dict_or_lists(self):
        words = "pp=2,recompute=selective,recompute_modules=mlp+layernorm,layers_per_stage=5-7"
        same = {"pp": 2, "recompute": "selective", "sp": None, "recompute_modules": ["mlp", "layernorm"],
                "layers_per_stage": [5, 7]}
        self.assertEqual(foretrain.predict(**RUN, plan=words).json, foretrain.predict(**RUN, plan=same).json)

    def test_numbers_as_tables_have_them_are_those_that_they_stand_for(self):
        plain = foretrain.predict(**RUN, plan={"tp": 2, "sp": True})
        self.assertEqual(foretrain.predict(**{**RUN, "gpus": 8.0}, plan=["tp=2", "sp=1"]).json, plain.json)
        row = {"tp": 2.0, "sp": 1.0, "zero": float("nan"), "recompute": None}  # of a table, where floats hold what is missing
        self.assertEqual(foretrain.predict(**RUN, plan=row).json, plain.json)
        try:
            import numpy
        except ImportError:
            return
        layers = foretrain.predict(**RUN, plan={"pp": 2, "layers_per_stage": numpy.array([5, 7])})
        self.assertEqual(layers.json, foretrain.predict(**RUN, plan="pp=2,layers_per_stage=5-7").json)
        words = {**RUN, "gpus": numpy.float64(8), "global_batch": numpy.int32(64)}
        self.assertEqual(foretrain.predict(**words, plan={"tp": numpy.int64(2), "sp": numpy.bool_(True)}).json, plain.json)

    def test_it_shows_itself_in_text_and_in_html(self):
        p = foretrain.predict(**RUN, plan="tp=2,zero=1")
        self.assertRegex(repr(p), r"gpt2 on dgx-a100: 8 x a100-80gb-sxm, stack megatron\n  plan +tp=2,dp=4,zero=1\n  step ")
        html = p._repr_html_()
        self.assertEqual(html.count("<table>"), 2)
        self.assertEqual(html.count("<tr>"), html.count("</tr>"))
        causes = sum(value >= 0.0005 * p.step_s for value in p.breakdown_s.data.values())
        self.assertEqual(html.count('role="img"'), causes)

    def test_where_a_plan_does_not_fit_it_shows_what_would(self):
        p = foretrain.predict("llama-2-13b", cluster="dgx-h100", gpus=8, global_batch=64, plan="tp=2,micro_batch=4")
        self.assertFalse(p.fits)
        self.assertIn("what would fit", repr(p))
        self.assertIn(p.would_fit[0].change, repr(p))
        self.assertEqual(p._repr_html_().count("<table>"), 3)

    def test_html_holds_no_words_of_others_as_tags(self):
        model = dict(LLAMA, _name_or_path="<b>tiny</b>")
        html = foretrain.predict(foretrain.Model.from_pretrained(model), cluster="dgx-h100", gpus=8, seq=4096,
                                 global_batch=64)._repr_html_()
        self.assertNotIn("<b>", html)

    def test_a_file_states_a_run_and_arguments_override_it(self):
        text = "model: gpt2\ncluster: dgx-a100\ngpus: 8\nglobal_batch: 64\nstack: megatron\nplan: {tp: 2}\n"
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "run.yaml")
            path.write_text(text)
            by_path = foretrain.predict(run=path, plan="zero=1")
        self.assertEqual(by_path.json, foretrain.predict(run=text, plan={"zero": 1}).json)
        self.assertEqual(by_path.json, foretrain.predict(run={**RUN, "plan": {"tp": 2}}, plan="zero=1").json)
        self.assertEqual(by_path.json, foretrain.predict(**RUN, plan="tp=2,zero=1").json)
        with self.assertRaises(FileNotFoundError):
            foretrain.predict(run="there_is_none.yaml")

    def test_a_file_that_changed_is_read_again(self):
        with tempfile.TemporaryDirectory() as folder:
            model, run = pathlib.Path(folder, "mine.yaml"), pathlib.Path(folder, "run.yaml")
            run.write_text(f"model: {model}\ncluster: dgx-a100\ngpus: 8\nglobal_batch: 64\nstack: megatron\n")
            text = foretrain.show("model", "gpt2", text=True).replace("params:", "# params:")
            for layers in (12, 24):
                model.write_text(text.replace("layers: 12", f"layers: {layers}"))
                self.assertEqual(foretrain.run(run=run).predict().stages[0].layers, layers)
                mine = foretrain.Model.from_pretrained(model)
                self.assertEqual(foretrain.run(**{**RUN, "model": mine}).predict().stages[0].layers, layers)
                self.assertEqual(foretrain.score({"tp": 2}, run=run).step_s[0], foretrain.predict(run=run, plan="tp=2").step_s)

    def test_several_runs_side_by_side_and_one_over_a_range(self):
        pair = foretrain.compare([RUN, {**RUN, "plan": {"tp": 2}}])
        alone = [foretrain.predict(**RUN), foretrain.predict(**RUN, plan="tp=2")]
        self.assertEqual([p.step_s for p in pair], [p.step_s for p in alone])
        table = foretrain.over("seq=512..1k", **RUN)
        self.assertEqual([point.seq for point in table.points], [512, 1024])


class Errors(unittest.TestCase):
    def test_the_field_is_named_and_the_nearest_name_too(self):
        with self.assertRaises(foretrain.InputError) as caught:
            foretrain.predict("gpt3", cluster="dgx-a100")
        self.assertEqual(caught.exception.field, "model")
        self.assertIn("did you mean 'gpt2'", str(caught.exception))
        self.assertIsInstance(caught.exception, ValueError)
        with self.assertRaisesRegex(foretrain.InputError, "gpu.*did you mean 'gpus'"):
            foretrain.default_session().answer("predict", gpu=8)

    def test_a_line_of_a_file_is_named(self):
        with self.assertRaises(foretrain.InputError) as caught:
            foretrain.predict(run="model: gpt2\ncluster: dgx-a100\ngpus: 8\nglobal_batch: 64\nplan: {tpp: 2}\n")
        self.assertEqual((caught.exception.line, caught.exception.column), (5, 8))
        self.assertIn("did you mean 'tp'", str(caught.exception))

    def test_a_thread_gets_its_own_error(self):
        told = {}

        def ask(name):
            for _ in range(20):
                try:
                    foretrain.show("model", name)
                except foretrain.InputError as error:
                    told.setdefault(name, set()).add(str(error))

        names = [f"nobody{i}" for i in range(4)]
        run_threads([lambda name=name: ask(name) for name in names])
        for name in names:
            self.assertEqual(len(told[name]), 1)
            self.assertIn(name, told[name].pop())


class Searches(unittest.TestCase):
    SMALL = dict(model="gpt2", cluster="dgx-a100", gpus=4, global_batch=64, set=["pp=1"], top=3)

    def test_the_best_plan_is_predicted_as_it_was_found(self):
        found = []
        result = foretrain.search(**self.SMALL, progress=found.append)
        self.assertEqual(len(result.best), 3)
        self.assertFalse(result.interrupted)
        self.assertEqual(result.predict(0).step_s, result.best[0].step_s)
        self.assertTrue(all(0 <= told.decided <= told.all for told in found))
        self.assertIn(result.best[0].plan, repr(result))
        self.assertIn("<table>", result._repr_html_())

    @unittest.skipUnless(pandas, "no pandas")
    def test_a_data_frame_of_the_best(self):
        frame = foretrain.search(**self.SMALL).to_pandas()
        self.assertEqual(len(frame), 3)
        self.assertTrue({"tp", "zero", "step_s", "plan"} <= set(frame.columns))

    def test_constraints_are_words_or_a_dict(self):
        words = foretrain.search("gpt2", cluster="dgx-a100", gpus=4, global_batch=64, set=["pp=1", "zero=0,1"], top=1,
                                 why="tp=2", what_if="gpus=8")
        same = foretrain.search("gpt2", cluster="dgx-a100", gpus=4, global_batch=64, set={"pp": 1, "zero": [0, 1]}, top=1,
                                why={"tp": 2}, what_if={"gpus": 8})
        self.assertEqual({**words.data, "seconds": 0}, {**same.data, "seconds": 0})
        with self.assertRaisesRegex(foretrain.InputError, "zer.*zero"):
            foretrain.search("gpt2", cluster="dgx-a100", gpus=4, global_batch=64, forbid={"zer": 3})

    def test_ctrl_c_ends_it_with_the_best_so_far(self):
        with self.assertRaises(KeyboardInterrupt) as caught:
            foretrain.search(**LARGE, progress=lambda told: signal.raise_signal(signal.SIGINT))
        self.assertIsInstance(caught.exception, foretrain.SearchInterrupted)
        self.assertTrue(caught.exception.result.interrupted)
        self.assertTrue(caught.exception.result.best)

    def test_a_line_of_progress_ends_with_the_search(self):
        with contextlib.redirect_stderr(io.StringIO()) as drawn:
            foretrain.search(**LARGE, time="1s", progress=True)
        self.assertRegex(drawn.getvalue(), r"\A(\r *[0-9.]+ % of [0-9,]+ plans[^\r\n]*)+\n\Z")

    def test_what_progress_raises_comes_out_and_the_search_ends(self):
        def fail(told):
            raise LookupError("mine")

        with self.assertRaisesRegex(LookupError, "mine"):
            foretrain.search(**LARGE, progress=fail)

    def test_a_wrong_request_is_refused_before_it_starts(self):
        with self.assertRaises(foretrain.InputError) as caught:
            foretrain.search("gpt2", cluster="dgx-a100", gpus=4, global_batch=64, objective="fun")
        self.assertEqual(caught.exception.field, "objective")


class Models(unittest.TestCase):
    def test_a_configuration_from_a_folder_a_path_a_dict_and_the_hubs_cache(self):
        class Config:
            def to_dict(self):
                return LLAMA

        with tempfile.TemporaryDirectory() as folder:
            tiny = pathlib.Path(folder, "tiny")
            cached = pathlib.Path(folder, "models--org--tiny", "snapshots", "0123")
            for place in (tiny, cached):
                place.mkdir(parents=True)
                (place / "config.json").write_text(json.dumps(LLAMA))
            os.environ["HF_HUB_CACHE"] = folder
            try:
                models = [foretrain.Model.from_pretrained(source)
                          for source in (tiny, str(tiny / "config.json"), LLAMA, Config(), "org/tiny")]
                steps = {foretrain.predict(model, cluster="dgx-h100", gpus=8, seq=4096, global_batch=64).step_s
                         for model in models}
            finally:
                del os.environ["HF_HUB_CACHE"]
        self.assertEqual(len(steps), 1)
        self.assertEqual(models[0].name, "tiny")
        # The embedding is the head too; a layer has attention, an MLP of three products and two norms.
        width, kv, ffn, vocab = 2048, 512, 8192, 128256
        layer = 2 * width * width + 2 * width * kv + 3 * width * ffn + 2 * width
        for model in models:
            self.assertEqual(model.parameters, vocab * width + 16 * layer + width)
            self.assertEqual(model.config["layers"], 16)
            self.assertIn("16 layers", repr(model))

    def test_nothing_there_says_so(self):
        with self.assertRaisesRegex(foretrain.InputError, "nobody/nothing"):
            foretrain.Model.from_pretrained("nobody/nothing")


class OtherQuestions(unittest.TestCase):
    def test_names_and_what_is_behind_them(self):
        names = foretrain.list("models")
        self.assertIn("gpt2", [row["name"] for row in names])
        self.assertIn("gpt2", repr(names))
        self.assertIn("<table>", names._repr_html_())
        self.assertEqual(foretrain.show("model", "gpt2").parameters, 124439808)
        self.assertIn("hidden: 768", foretrain.show("model", "gpt2", text=True))

    def test_how_far_to_trust_a_prediction(self):
        like = foretrain.accuracy("gpt2", cluster="dgx-a100", gpus=8, global_batch=64, stack="megatron")
        self.assertEqual((like.run.gpu, like.run.stack), ("a100-80gb-sxm", "megatron"))
        self.assertGreater(like.all.count, 100)

    def test_an_operator(self):
        rows = foretrain.cost("linear m=8192 k=4096 n=11008", gpu="h200-141gb-sxm", impl="aten").rows
        self.assertEqual([row["pass"] for row in rows], ["fwd", "bwd", "dgrad", "wgrad"])

    def test_launches_out_and_in(self):
        script = foretrain.convert({**RUN, "plan": {"tp": 2}}, to="megatron", text=True)
        self.assertIn("--tensor-model-parallel-size 2", script)
        self.assertIn("tp: 2", foretrain.convert(script, text=True))

    def test_logs(self):
        told = foretrain.import_("log", ROOT / "tests/golden/inputs/logs/megatron.log")
        self.assertAlmostEqual((told if isinstance(told, foretrain.Answer) else told[0]).step_s, 2.41, 2)
        slow = foretrain.diagnose(ROOT / "tests/golden/inputs/diagnose/stalls.log", cluster="dgx-h100", time="0s")
        self.assertTrue(slow.causes)

    def test_the_keys_of_a_plan_have_a_table(self):
        fields = {field["key"]: field for field in foretrain.plan_fields()}
        self.assertEqual(fields["recompute"]["words"], ["none", "selective", "full"])
        self.assertEqual(fields["tp"]["kind"], "whole")

    def test_a_calibration_from_its_folder_or_its_text(self):
        program = pathlib.Path(os.environ.get("FORETRAIN_LIBRARY", "")).with_name("foretrain")
        if not program.exists():
            self.skipTest("no program beside the library, which calibrates")
        run = {"model": "llama-2-7b", "cluster": "dgx-h100", "gpus": 16, "global_batch": 64, "stack": "megatron"}
        log = ROOT / "tests/golden/inputs/diagnose/stalls.log"
        with tempfile.TemporaryDirectory() as folder:
            mine = pathlib.Path(folder, "mine")
            subprocess.run([program, "calibrate", log, "--cluster", "dgx-h100", "-o", mine], check=True,
                           stdout=subprocess.DEVNULL)
            text = (mine / "calibration.yaml").read_text()
            stands = foretrain.predict(**run, plan="tp=4,zero=1", calibration=mine)
            self.assertEqual((stands.calibration.name, stands.calibration.runs), ("mine", 1))
            self.assertNotEqual(stands.step_s, stands.calibration.uncalibrated_s)
            self.assertEqual(stands.calibration.uncalibrated_s, foretrain.predict(**run, plan="tp=4,zero=1").step_s)
            for same in (str(mine), str(mine / "calibration.yaml"), text):
                self.assertEqual(foretrain.predict(**run, plan="tp=4,zero=1", calibration=same).json, stands.json)
            shut = foretrain.Session(files=False)
            self.assertEqual(shut.predict(**run, plan="tp=4,zero=1", calibration=text).json, stands.json)
            with self.assertRaisesRegex(ValueError, "no file is opened"):
                shut.predict(**run, calibration=mine)
            with self.assertRaises(FileNotFoundError):
                foretrain.predict(**run, calibration=str(mine / "nothing"))
            with self.assertRaises(foretrain.InputError):
                foretrain.predict(**run, calibration=text.replace("prior", "prio"))
            found = foretrain.search(**run, set=["tp=4", "pp=1", "zero=1"], top=1, calibration=mine)
            self.assertEqual(found.calibration.name, "mine")
            self.assertEqual(found.predict(0).step_s, found.best[0].step_s)
            pair = foretrain.compare([{**run, "plan": {"tp": 4, "zero": 1}}] * 2, calibration=text)
            self.assertEqual([p.step_s for p in pair], [stands.step_s] * 2)
            ranged = foretrain.over("tp=2,4", **run, plan="tp=4,zero=1", calibration=mine)
            self.assertEqual(ranged.points[1].step_s, stands.step_s)

    def test_a_session_of_its_own(self):
        shut = foretrain.Session(files=False)
        with self.assertRaisesRegex(foretrain.InputError, "no file is opened"):
            shut.predict("/etc/hostname", cluster="dgx-a100", gpus=8, global_batch=64)
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write("model: gpt2\n")
            file.flush()
            with self.assertRaises(foretrain.InputError) as caught:  # the words of the path are a text like any other
                shut.predict(run=file.name)
            self.assertNotIn("gpt2", str(caught.exception))
            with self.assertRaisesRegex(ValueError, "no file is opened"):
                shut.diagnose(pathlib.Path(file.name))
        run = shut.run(**RUN)
        del shut
        gc.collect()
        self.assertGreater(run.score_one().step_s, 0)


class ThePackage(unittest.TestCase):
    def test_it_needs_no_other(self):
        code = ("import sys; sys.modules['numpy'] = sys.modules['pandas'] = None; import foretrain;"
                "s = foretrain.score([{'tp': 1}, {'tp': 2}], 'gpt2', cluster='dgx-a100', gpus=8, global_batch=64);"
                "print(type(s.step_s).__name__, s.best, repr(s)[:7])")
        said = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
        self.assertEqual(said.stdout, "array 0 2 plans\n")

    def test_where_there_is_no_thread_for_a_search_the_machine_is_blamed(self):
        # A thread's stack would be larger than all address space, which holds for root too.
        code = ("import foretrain\n"
                "try: foretrain.search('gpt2', cluster='dgx-a100', gpus=4, global_batch=64)\n"
                "except foretrain.MachineError as error: print(error.message)")
        said = subprocess.run(["bash", "-c", 'ulimit -s 1000000; ulimit -v 900000; exec "$@"', "-", sys.executable, "-c", code],
                              check=True, capture_output=True, text=True)
        self.assertEqual(said.stdout, "the system gives no thread\n")

    def test_every_public_name_is_documented_and_typed(self):
        for name in (*foretrain.__all__, "list", "show"):
            thing = getattr(foretrain, name)
            self.assertTrue(inspect.getdoc(thing), name)
            members = vars(thing).items() if inspect.isclass(thing) else [(name, thing)]
            for member, value in members:
                if inspect.isfunction(value) and not member.startswith("_"):
                    self.assertTrue(inspect.getdoc(value), f"{name}.{member}")
                    self.assertIn("return", value.__annotations__, f"{name}.{member}")

    def test_a_forked_child_may_ask_too(self):
        foretrain.predict(**RUN)
        child = os.fork()
        if child == 0:
            os._exit(0 if foretrain.Session().predict(**RUN).step_s > 0 else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)


if __name__ == "__main__":
    unittest.main()
