"""Answers of the server have the bytes of the command line's --json, `seconds` aside; and what is wrong has its words."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import questions
from server import Server

PROGRAM = sys.argv.pop(1)
SECONDS = re.compile(r'"seconds": [^,\n]*')


SMALL = {"model": "gpt2-xl", "cluster": "dgx-a100", "gpus": 8, "global_batch": 64}


def calibration(folder):
    """What a step of SMALL that took four seconds teaches, as a folder and as the text of its file."""
    subprocess.run([PROGRAM, "calibrate", *questions.options(SMALL), "--measured", "4", "--name", "mine", "-o", folder],
                   check=True, capture_output=True)
    return folder, (pathlib.Path(folder) / "calibration.yaml").read_text()


def on_command_line(words):
    return subprocess.run([PROGRAM, *words], cwd=questions.INPUTS, capture_output=True, text=True, timeout=300)


class SameAnswers(unittest.TestCase):
    def test_questions(self):
        asked = 0
        with Server(PROGRAM) as server:
            for verb, request, words in questions.questions():
                with self.subTest(verb=verb, words=words):
                    told = on_command_line(words)
                    if verb == "search":
                        status, text = server.search(request)
                    elif verb == "list":
                        status, _, text = server.ask("GET", "/api/v1/list/" + request["kind"])
                        text = text.decode()
                    else:
                        status, _, text = server.post(verb, request)
                        text = text.decode()
                    if told.returncode == 0:
                        self.assertEqual(status, 200, text)
                        self.assertEqual(SECONDS.sub("", text), SECONDS.sub("", told.stdout))
                    else:
                        self.assertEqual((status, told.returncode), (422, 2), text + told.stderr)
                        message = json.loads(text)["error"]["message"]
                        self.assertEqual(words_alone(message), words_alone(told.stderr))
                    asked += 1
        print(f"{asked} questions", file=sys.stderr)
        self.assertGreaterEqual(asked, 50)


    def test_on_a_calibration(self):
        """All that stands on one does so over HTTP too."""
        table = (questions.INPUTS / "scoreboard.csv").read_text().replace("dgx-h100", "dgx-a100").replace("h100-80gb-sxm", "a100-80gb-sxm")
        with tempfile.TemporaryDirectory() as work, Server(PROGRAM) as server:
            folder, text = calibration(work + "/mine")
            path = pathlib.Path(work) / "table.csv"
            path.write_text(table)
            few = {**SMALL, "set": ["pp=1", "zero=1"]}
            for verb, request, words in [
                    ("predict", SMALL, ["predict", *questions.options(SMALL)]),
                    ("over", {**SMALL, "over": "tp=1,2,4"}, ["predict", *questions.options(SMALL), "--over", "tp=1,2,4"]),
                    ("validate", {"tables": [table]}, ["validate", str(path)]),
                    ("search", few, ["search", *questions.options(few)]),
                    ("search", {**few, "global_batch": "64,128"}, ["search", *questions.options({**few, "global_batch": "64,128"})])]:
                with self.subTest(words=words):
                    told = on_command_line([*words, "--json", "--calibration", folder])
                    self.assertEqual(told.returncode, 0, told.stderr)
                    asked = {**request, "calibration": {"name": "calibration.yaml", "text": text}}
                    status, answer = server.search(asked) if verb == "search" else server.post(verb, asked)[::2]
                    answer = answer if isinstance(answer, str) else answer.decode()
                    self.assertEqual(status, 200, answer)
                    self.assertEqual(SECONDS.sub("", answer), SECONDS.sub("", told.stdout))
                    without = on_command_line([*words, "--json"])
                    self.assertNotEqual(SECONDS.sub("", answer), SECONDS.sub("", without.stdout))


def words_alone(message):
    """Without the place in front, and with keys in place of options and of a subcommand's name."""
    line = message.strip().splitlines()[-1]
    line = re.sub(r"^\S+: error: ", "", line)
    line = re.sub(r"^(kind|name|list|show \w+|show): ", "", line)
    return re.sub(r"--([a-z-]+)", lambda m: m[1].replace("-", "_"), line)


if __name__ == "__main__":
    unittest.main(warnings="ignore")
