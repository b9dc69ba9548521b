"""Every route's answers keep to the published schemas, which are themselves good; and each schema is that of some route."""
import json
import pathlib
import sys
import unittest

import questions
from server import Server

try:
    import jsonschema
except ImportError:
    print("skipped: python3-jsonschema is not installed")
    sys.exit(77)

PROGRAM = sys.argv.pop(1)


class Schemas(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(PROGRAM)
        status, answer = cls.server.json("GET", "/api/v1/schema")
        assert status == 200, answer
        cls.schemas, cls.used = {}, set()
        for name in answer["schemas"]:
            status, headers, text = cls.server.ask("GET", "/api/v1/schema/" + name)
            assert (status, headers["Content-Type"]) == (200, "application/schema+json")
            jsonschema.Draft202012Validator.check_schema(json.loads(text))
            cls.schemas[name] = jsonschema.Draft202012Validator(json.loads(text))

    @classmethod
    def tearDownClass(cls):
        cls.server.end()

    def hold(self, name, answer):
        self.used.add(name)
        faults = [f"{'/'.join(map(str, e.absolute_path))}: {e.message[:300]}" for e in self.schemas[name].iter_errors(answer)]
        self.assertEqual(faults, [], name)

    def hold_question(self, verb, request):
        with self.subTest(verb=verb, request=str(request)[:200]):
            if verb == "list":
                status, answer = self.server.json("GET", "/api/v1/list/" + request["kind"])
            elif verb == "search":
                status, text = self.server.search(request)
                answer = json.loads(text)
                verb = "sweep" if "points" in answer else verb  # of several batches or lengths
            else:
                status, answer = self.server.json("POST", "/api/v1/" + verb, request)
            self.hold(verb if status == 200 else "error", answer)

    def test_1_questions(self):
        for verb, request, _ in questions.questions():
            self.hold_question(verb, request)

    def test_2_views(self):
        request = {"model": "llama-3-8b", "cluster": "dgx-h100", "gpus": 64, "global_batch": 512, "plan": "pp=4"}
        status, both = self.server.json("POST", "/api/v1/predict", {**request, "views": {"timeline": True}})
        self.assertEqual(status, 200)
        self.hold("predict", both["answer"])
        self.hold("timeline", both["timeline"])
        events, path = both["timeline"]["events"], both["timeline"]["path"]
        self.assertEqual({len(column) for column in events.values()}, {len(events["stage"])})
        self.assertEqual(path["from_ns"][0], 0)
        self.assertEqual(path["to_ns"][-1], both["timeline"]["step_ns"])
        self.assertEqual(path["from_ns"][1:], path["to_ns"][:-1])
        self.assertLessEqual(max(events["to_ns"]), both["timeline"]["step_ns"])
        self.assertEqual([m["stage"] for m in both["timeline"]["memory"]], [0, 1, 2, 3])
        for verb, more in [("import", {"format": "topo", "logs": [questions.text("topo/switched.txt")]}),
                           ("import", {"format": "nccl-tests", "logs": [questions.text("nccl/two_nodes.log")]}),
                           ("import", {"format": "kineto", "logs": [questions.text("traces/small.json")],
                                       "views": {"files": True, "text": True}}),
                           ("convert", {"run": questions.text("good_run.yaml"), "json": False})]:
            self.hold_question(verb, more)

    def test_3_searches_and_lists(self):
        status, started = self.server.json("POST", "/api/v1/search", {
            "model": "gpt2-xl", "cluster": "dgx-a100", "gpus": 8, "global_batch": 64})
        self.assertEqual(status, 202)
        self.hold("search-started", started)
        for _ in range(200):
            state = self.server.json("GET", "/api/v1/search/" + started["id"])[1]
            self.hold("search-state", state)
            if state["done"]:
                break
        self.hold("api", self.server.json("GET", "/api/v1")[1])
        self.hold("schemas", self.server.json("GET", "/api/v1/schema")[1])
        for method, path in [("GET", "/nothing"), ("PUT", "/api/v1/predict"), ("GET", "/api/v1/search/x")]:
            self.hold("error", self.server.json(method, path)[1])

    def test_4_none_is_left_over(self):
        """Those that no route answers by are of the command line alone, which tests/schemas holds."""
        cases = (pathlib.Path(__file__).resolve().parents[1] / "schemas/cases").read_text().splitlines()
        others = {line.split()[0] for line in cases if line and not line.startswith("#")}
        self.assertEqual(set(self.schemas) - self.used - others, set())


if __name__ == "__main__":
    unittest.main(warnings="ignore")
