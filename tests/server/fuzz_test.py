"""Mutated bytes over sockets: whatever comes, it answers, or closes, and lives. FUZZ_SECONDS says how long (20)."""
import json
import os
import random
import sys
import time
import unittest

from questions import questions
from server import Server, read_all

PROGRAM = sys.argv.pop(1)
SECONDS = float(os.environ.get("FUZZ_SECONDS", "20"))
PIECES = [b"\r\n", b"\r\n\r\n", b"\0", b"\xff\xfe", b"Content-Length: 5\r\n", b"Transfer-Encoding: chunked\r\n", b"{", b"}",
          b"[" * 50, b'"', b"\\u0000", b"1e999", b"-1", b"null", b"true", b"..", b"/etc/passwd", b": ", b"GET ", b" HTTP/1.1",
          b"Host: evil\r\n", b"Expect: 100-continue\r\n", b"99999999999999999999", b"A" * 3000, b"model", b"gpus", b"plan"]


def mutated(rng, data):
    data = bytearray(data)
    for _ in range(rng.choice([0, 1, 1, 2, 4, 8])):
        at = rng.randrange(len(data) + 1)
        end = min(len(data), at + rng.choice([0, 1, 2, 8, 30]))
        data[at:end] = rng.choice([b"", rng.choice(PIECES), bytes([rng.randrange(256)]), data[at:end] * 2])
    return bytes(data)


class Fuzz(unittest.TestCase):
    def test_mutations(self):
        rng = random.Random(int(os.environ.get("FUZZ_SEED", "1")))
        seeds = [(verb, json.dumps(request).encode()) for verb, request, _ in questions()
                 if len(json.dumps(request)) < 20_000 and verb not in ("search", "over", "validate", "diagnose")]
        end, sent, statuses = time.monotonic() + SECONDS, 0, {}
        with Server(PROGRAM) as server:
            while time.monotonic() < end:
                verb, body = rng.choice(seeds)
                if rng.random() < 0.7:
                    body = mutated(rng, body)
                head = (f"POST /api/v1/{verb} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n").encode()
                whole = rng.random() >= 0.3
                if not whole:
                    head = mutated(rng, head)
                with server.raw(timeout=20) as client:
                    try:
                        client.sendall(head + body)
                        if rng.random() < 0.9:
                            if not whole:  # a length that lies is not waited for; who waits for an answer stays
                                client.shutdown(1)
                            answer = read_all(client)
                            status = answer.split(b" ", 2)[1] if answer.startswith(b"HTTP/1.1 ") else answer[:20]
                            statuses[status] = statuses.get(status, 0) + 1
                            self.assertNotEqual(status, b"500", (head, body, answer[-600:]))
                    except ConnectionError:
                        pass
                sent += 1
                self.assertIsNone(server.process.poll(), (head, body))
            status, _, _ = server.post("predict", {"model": "gpt2-xl", "cluster": "dgx-a100", "gpus": 8, "global_batch": 64})
            self.assertEqual(status, 200)
            code, log = server.end()
            self.assertEqual(code, 0)
            self.assertNotIn("AddressSanitizer", log)
        print(f"{sent} requests: " + ", ".join(f"{s.decode(errors='replace')} {n}" for s, n in sorted(statuses.items())),
              file=sys.stderr)
        self.assertGreater(sent, 20)


if __name__ == "__main__":
    unittest.main(warnings="ignore")
