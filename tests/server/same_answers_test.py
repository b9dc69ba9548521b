"""Answers of the server have the bytes of the command line's --json, `seconds` aside; and what is wrong has its words."""
import json
import re
import subprocess
import sys
import unittest

import questions
from server import Server

PROGRAM = sys.argv.pop(1)
SECONDS = re.compile(r'"seconds": [^,\n]*')


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


def words_alone(message):
    """Without the place in front, and with keys in place of options and of a subcommand's name."""
    line = message.strip().splitlines()[-1]
    line = re.sub(r"^\S+: error: ", "", line)
    line = re.sub(r"^(kind|name|list|show \w+|show): ", "", line)
    return re.sub(r"--([a-z-]+)", lambda m: m[1].replace("-", "_"), line)


if __name__ == "__main__":
    unittest.main(warnings="ignore")
