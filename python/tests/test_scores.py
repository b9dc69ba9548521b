"""Plans as people have them, scored: see test_foretrain.py."""
import math
import unittest
from array import array

import foretrain
from examples import RUN, run_threads

try:
    import numpy
except ImportError:
    numpy = None
try:
    import pandas
except ImportError:
    pandas = None


class ScoredPlans(unittest.TestCase):
    PLANS = [{"tp": 1, "zero": 1}, {"tp": 2, "recompute": "full"}, {"tp": 3}, {"pp": 2, "layers_per_stage": [5, 7]}]

    def check(self, scores, plans=None):
        """Each figure is the prediction's; the plan with tp=3 cannot be."""
        plans = plans or self.PLANS
        run = foretrain.run(**RUN)
        self.assertEqual(len(scores), len(plans))
        for i, plan in enumerate(plans):
            if plan.get("tp") == 3:
                self.assertTrue(math.isnan(scores.step_s[i]))
                self.assertEqual(scores.verdict[i], "refused")
                self.assertIn("tp", scores.reason(i))
                continue
            whole = run.predict(plan)
            self.assertEqual(scores.step_s[i], whole.step_s)
            self.assertEqual(scores.step_low_s[i], whole.step_low_s)
            self.assertEqual(scores.step_high_s[i], whole.step_high_s)
            self.assertEqual(round(scores.needed_bytes[i]), whole.needed_bytes)
            self.assertEqual(scores.fit_probability[i], whole.fit_probability)
            self.assertEqual(scores.verdict[i], whole.verdict)
            self.assertIsNone(scores.reason(i))
            self.assertEqual(scores.predict(i).json, whole.json)

    def test_a_list_of_dicts(self):
        self.check(foretrain.score(self.PLANS, **RUN))

    def test_a_list_of_words(self):
        self.check(foretrain.score(["tp=1,zero=1", "tp=2, recompute=full", "tp=3", "pp=2,layers_per_stage=5-7"],
                                   **RUN))

    def test_a_dict_of_columns(self):
        columns = {"tp": [1, 2, 3, None], "zero": array("d", [1, math.nan, math.nan, math.nan]),
                   "recompute": [None, "full", None, None], "pp": (1, 1, 1, 2),
                   "layers_per_stage": [None, None, None, "5-7"]}
        self.check(foretrain.score(columns, **RUN))

    def test_values_that_stand_alone_hold_for_all(self):
        self.check(foretrain.score({"tp": [1, 2], "zero": 1, "recompute": "full"}, **RUN),
                   [{"tp": 1, "zero": 1, "recompute": "full"}, {"tp": 2, "zero": 1, "recompute": "full"}])
        self.check(foretrain.score({"tp": 2}, **RUN), [{"tp": 2}])

    @unittest.skipUnless(numpy, "no numpy")
    def test_columns_of_numpy(self):
        columns = {"tp": numpy.array([1, 2, 3, 1], "int32"), "zero": numpy.array([1, 0, 0, 0], bool),
                   "recompute": numpy.array(["none", "full", "none", "none"]),
                   "pp": numpy.array([1, 1, 1, 2.0]), "layers_per_stage": [None, None, None, "5-7"]}
        scores = foretrain.score(columns, **RUN)
        self.check(scores)
        self.assertIsInstance(scores.step_s, numpy.ndarray)
        sizes = numpy.arange(1, 9)[::2]  # 1, 3, 5, 7, not in a row in memory; 64 sequences are dealt to 8 ranks
        self.assertEqual(list(foretrain.score({"micro_batch": sizes}, **RUN).refused), [0, 1, 1, 1])

    @unittest.skipUnless(pandas, "no pandas")
    def test_a_data_frame_with_what_frames_have(self):
        frame = pandas.DataFrame({"tp": [1, 2, 3, math.nan], "zero": pandas.array([1, None, None, None], "Int64"),
                                  "recompute": pandas.Categorical([None, "full", None, None]),
                                  "pp": [1, 1, 1, 2], "layers_per_stage": [None, None, None, "5-7"]},
                                 index=list("abcd"))
        scores = foretrain.score(frame, **RUN)
        self.check(scores)
        table = scores.to_pandas()
        self.assertEqual(list(table.columns[:5]), list(frame.columns))
        self.assertEqual(table.step_s[1], scores.step_s[1])

    @unittest.skipUnless(pandas, "no pandas")
    def test_a_column_in_which_all_is_missing_says_nothing(self):
        for key in ("tp", "recompute"):
            for missing in (pandas.Series([pandas.NA, pandas.NA], dtype=object), pandas.Categorical([None, None]), [None] * 2,
                            pandas.Series([math.nan] * 2)):
                frame = pandas.DataFrame({key: missing, "zero": [0, 1]})
                self.check(foretrain.score(frame, **RUN), [{"zero": 0}, {"zero": 1}])

    @unittest.skipUnless(pandas, "no pandas")
    def test_a_data_frame_with_a_column_twice_is_refused(self):
        for rows in ([[1, 2]], [[1, 2], [2, 4]], [[1, 2]] * 4):  # as many as there are columns, too
            with self.assertRaisesRegex(ValueError, "found 2 columns 'tp', expected one"):
                foretrain.score(pandas.DataFrame(rows, columns=["tp", "tp"]), **RUN)
        frame = pandas.DataFrame([[1, 1], [2, 0]], columns=["tp", "zero"])
        self.check(foretrain.score(frame, **RUN), [{"tp": 1, "zero": 1}, {"tp": 2, "zero": 0}])

    def test_the_best_comes_first_and_shows_itself(self):
        scores = foretrain.score(self.PLANS, **RUN)
        order = scores.order()
        self.assertEqual(scores.best, order[0])
        self.assertEqual(order, sorted(order, key=lambda i: scores.step_s[i]))
        self.assertNotIn(2, order)
        self.assertIn("4 plans: 3 fit, 0 may not, 0 do not, 1 refused", repr(scores))
        self.assertIn("<table>", scores._repr_html_())
        self.assertEqual([row["verdict"] for row in scores.rows()], scores.verdict)
        self.assertEqual(len(foretrain.score([], **RUN)), 0)
        self.assertIsNone(foretrain.score([], **RUN).best)

    def test_what_is_no_column_of_plans_is_refused(self):
        with self.assertRaisesRegex(foretrain.InputError, "unknown key 'tpp'.*tp"):
            foretrain.score({"tpp": [1]}, **RUN)
        with self.assertRaisesRegex(ValueError, "columns of one length"):
            foretrain.score({"tp": [1, 2], "pp": [1]}, **RUN)
        scores = foretrain.score({"recompute": ["fll", "full"], "tp": [1, 0]}, **RUN)
        self.assertIn("did you mean 'full'", scores.reason(0))
        self.assertIn("tp: ", scores.reason(1))

    def test_one_at_a_time(self):
        run = foretrain.run(**RUN)
        self.assertEqual(run.score_one("tp=2").step_s, run.predict({"tp": 2}).step_s)
        with self.assertRaises(foretrain.InputError) as caught:
            run.score_one("tp=3")
        self.assertEqual(caught.exception.field, "plan")

    def test_threads_share_a_run(self):
        run, plans, found = foretrain.run(**RUN), {"tp": [1, 2, 4, 8] * 50}, []
        alone = [str(step) for step in run.score(plans).step_s]  # as text: NaN is no number's equal
        run_threads([lambda: found.append([str(step) for step in run.score(plans).step_s])] * 4)
        self.assertEqual(found, [alone] * 4)


if __name__ == "__main__":
    unittest.main()
