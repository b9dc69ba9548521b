"""What a server must bear: pages of other origins, bodies that lie, clients that stall, full queues, sudden ends."""
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from questions import text
from server import Server, read_all

PROGRAM = sys.argv.pop(1)
LONG = os.environ.get("FORETRAIN_LONG") == "1"
SMALL = {"model": "gpt2-xl", "cluster": "dgx-a100", "gpus": 8, "global_batch": 64}
QUICK = {**SMALL, "set": ["pp=1", "zero=1", "micro_batch=1"]}  # a search of a moment
FLAT_MIB = float(os.environ.get("FORETRAIN_FLAT_MIB", "16"))
ENDLESS = {"model": "llama-3-70b", "cluster": "dgx-h100", "gpus": "512..1024", "global_batch": 1024, "seq": 8192}


def status_of(data):
    return int(data.split(b" ", 2)[1]) if data.startswith(b"HTTP/1.1 ") else None


class Border(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(PROGRAM)

    @classmethod
    def tearDownClass(cls):
        status, log = cls.server.end()
        assert status == 0, (status, log[-2000:])
        assert "AddressSanitizer" not in log and "runtime error" not in log, log[-5000:]

    def ask(self, *words, **more):
        return self.server.ask(*words, **more)

    def raw_status(self, data):
        with self.server.raw(data) as client:
            return status_of(read_all(client))

    def lives(self):
        self.assertEqual(self.server.post("predict", SMALL)[0], 200)

    def test_other_origins_can_do_nothing(self):
        evil = {"Origin": "http://evil.example"}
        for method, path, body in [("POST", "/api/v1/predict", SMALL), ("POST", "/api/v1/search", SMALL),
                                   ("DELETE", "/api/v1/search/x", None), ("GET", "/api/v1/list/models", None)]:
            self.assertEqual(self.ask(method, path, body, headers=evil)[0], 403, path)
            self.assertEqual(self.ask(method, path, body, headers={"Origin": "null"})[0], 403, path)
        for site in ["cross-site", "same-site"]:
            self.assertEqual(self.server.post("predict", SMALL, headers={"Sec-Fetch-Site": site})[0], 403)
        own = {"Origin": f"http://127.0.0.1:{self.server.port}"}
        status, headers, _ = self.server.post("predict", SMALL, headers=own)
        self.assertEqual(status, 200)
        self.assertFalse([name for name in headers if name.lower().startswith("access-control")])
        self.assertEqual(self.ask("OPTIONS", "/api/v1/predict", headers=evil)[0], 403)

    def test_rebound_names_are_nobody(self):
        for host in ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost.", "0.0.0.0", ""]:
            self.assertEqual(self.ask("GET", "/", headers={"Host": host})[0], 421, host)
        for host in ["localhost", f"localhost:{self.server.port}", "127.0.0.1:9", "[::1]:9"]:
            self.assertNotEqual(self.ask("GET", "/", headers={"Host": host})[0], 421, host)

    def test_forms_are_no_questions(self):
        for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]:
            self.assertEqual(self.ask("POST", "/api/v1/predict", "{}", headers={"Content-Type": kind})[0], 415)

    def test_no_path_leaves(self):
        for path in ["/../../../../etc/passwd", "/assets/../../etc/passwd", "/%2e%2e/etc/passwd", "//etc/passwd",
                     "/assets/%2e%2e%2f%2e%2e%2fetc%2fpasswd", "/api/v1/schema/..%2f..%2fetc", "/etc/passwd",
                     "/docs/schemas/predict.json", "/assets/..", "/.", "/..", "/assets/\\..\\x"]:
            status, _, text = self.ask("GET", path)
            self.assertEqual(status, 404, path)
            self.assertNotIn(b"root:", text)
        for word in ["/etc/passwd", "../../etc/passwd", "/proc/self/environ", "file:///etc/passwd", "/etc", "."]:
            for key in ["model", "cluster", "stack", "profile"]:
                status, _, text = self.server.post("predict", {**SMALL, key: word})
                self.assertEqual(status, 422, (key, word))
                self.assertNotIn(b"root:", text)
            self.assertEqual(self.server.post("show", {"kind": "model", "name": word})[0], 422)
            self.assertEqual(self.server.post("predict", {"run": f"model: {word}\ncluster: dgx-a100\n"})[0], 422)

    def test_every_answer_is_guarded(self):
        for path in ["/", "/nothing", "/api/v1/list/models", "/api/v1"]:
            headers = self.ask("GET", path)[1]
            self.assertIn("script-src 'self'", headers["Content-Security-Policy"])
            self.assertNotIn("unsafe", headers["Content-Security-Policy"])
            self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
            self.assertIn("frame-ancestors 'none'", headers["Content-Security-Policy"])
            self.assertEqual(headers["Referrer-Policy"], "no-referrer")

    def test_methods(self):
        status, headers, _ = self.ask("GET", "/api/v1/predict")
        self.assertEqual((status, headers["Allow"]), (405, "POST"))
        self.assertEqual(self.ask("PUT", "/api/v1/search/x", "{}")[0], 405)
        self.assertEqual(self.ask("GET", "/api/v2/predict")[0], 404)

    def test_bodies_have_limits(self):
        self.assertEqual(self.server.post("predict", '{"run": "' + "x" * (1 << 20) + '"}')[0], 413)
        status, _, text = self.server.post("import", json.dumps({"format": "log", "logs": ["x" * (8 << 20)]}))
        self.assertEqual(status, 422, text[:200])
        head = "POST /api/v1/import HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        self.assertEqual(self.raw_status((head + "Content-Length: 99999999999\r\n\r\n").encode()), 413)

    def test_lengths_that_lie(self):
        head = b"POST /api/v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        for length, status in [(b"Content-Length: -1", 400), (b"Content-Length: 3\r\nContent-Length: 2", 400),
                               (b"Content-Length: 2\r\nTransfer-Encoding: chunked", 501), (b"X: y", 411)]:
            self.assertEqual(self.raw_status(head + length + b"\r\n\r\n{}"), status, length)
        begin = time.monotonic()
        self.assertEqual(self.raw_status(head + b"Content-Length: 100\r\n\r\n{}"), 408)  # says more than it sends
        self.assertLess(time.monotonic() - begin, 5)
        with self.server.raw(head + b"Content-Length: 2\r\n\r\n{}{}GET") as client:  # sends more than it says
            self.assertEqual(status_of(client.recv(65536)), 200)
        self.lives()

    def test_empty_lines_keep_nobody_here(self):
        with self.server.raw() as client:
            begin = time.monotonic()
            try:
                while time.monotonic() - begin < 20:
                    client.sendall(b"\r\n")
                    time.sleep(0.1)
                    client.setblocking(False)
                    try:
                        if client.recv(4096) == b"":
                            break
                    except BlockingIOError:
                        pass
                    client.setblocking(True)
            except ConnectionError:
                pass
        self.assertLess(time.monotonic() - begin, 10)

    def test_who_leaves_a_long_question_gives_the_machine_back(self):
        steps = "".join(line for line in text("logs/megatron.log").splitlines(True) if "iteration" in line)
        question = {"measured": steps, "time": "25s", "model": "gpt-1t", "cluster": "dgx-h100", "gpus": 16384,
                    "global_batch": 16384, "seq": 2048, "stack": "megatron", "plan": "tp=8,pp=64"}
        begin = time.monotonic()
        self.assertEqual(self.server.post("diagnose", question)[0], 200)
        one = time.monotonic() - begin
        body = json.dumps(question).encode()
        head = (f"POST /api/v1/diagnose HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(body)}\r\n\r\n").encode()
        # On every thread that takes such questions, and eight more behind each.
        clients = [self.server.raw(head + body) for _ in range(9 * max(1, (os.cpu_count() or 2) - 1))]
        time.sleep(one / 4)
        for client in clients:
            client.close()
        begin = time.monotonic()
        self.assertEqual(self.server.post("over", {**SMALL, "over": "tp=1,2"})[0], 200)
        self.assertLess(time.monotonic() - begin, 4 * one + 1)  # not behind nine of them
        status, _, told = self.server.post("diagnose", {**question, "time": "40s"})
        self.assertEqual((status, b"expected at most 30s" in told), (422, True))

    def test_tables_have_limits(self):
        head, *rows = text("scoreboard.csv").splitlines()
        table = "\n".join([head] + [rows[i % len(rows)] for i in range(20_001)])
        status, _, told = self.server.post("validate", {"tables": [table]})
        self.assertEqual((status, b"found 20,001 rows, expected at most 20,000" in told), (422, True), told[:300])

    def test_not_http(self):
        for data in [b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"\0" * 100 + b"\r\n\r\n", b"GET\r\n\r\n",
                     b"GET / HTTP/1.1\r\n: x\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\xff" * 5000]:
            self.assertIn(self.raw_status(data), (400, 408, 414, 431, 505), data[:20])
        self.lives()

    def test_slow_heads_and_bodies(self):
        ends = []

        def crawl(data):
            with self.server.raw() as client:
                begin = time.monotonic()
                try:
                    for byte in data:
                        client.sendall(bytes([byte]))
                        time.sleep(0.2)
                        client.setblocking(False)
                        try:
                            if client.recv(4096):
                                break
                        except BlockingIOError:
                            pass
                        client.setblocking(True)
                except ConnectionError:
                    pass
                ends.append(time.monotonic() - begin)

        body = b"POST /api/v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n"
        threads = [threading.Thread(target=crawl, args=(b"GET / HTTP/1.1\r\nX: " + b"x" * 100,)) for _ in range(5)]
        threads += [threading.Thread(target=crawl, args=(body + b"x" * 1000,)) for _ in range(2)]
        for thread in threads:
            thread.start()
        self.lives()
        for thread in threads:
            thread.join(60)
        self.assertEqual(len(ends), 7)
        self.assertLess(max(ends), 10)  # of a body of 64 KiB a second as of a head of two seconds

    def test_stalled_connections_cost_nobody_else(self):
        stalled = [self.server.raw(b"POST /api/v1/predict HTTP/1.1\r\nHost: lo") for _ in range(200)]
        times = []
        connection = self.server.connection()
        for _ in range(20):
            begin = time.monotonic()
            self.assertEqual(self.server.post("predict", SMALL, connection=connection)[0], 200)
            times.append(time.monotonic() - begin)
        for client in stalled:
            client.close()
        print(f"beside 200 stalled connections: {sorted(times)[10] * 1e3:.1f} ms in the median", file=sys.stderr)
        self.assertLess(sorted(times)[10], 1)

    def test_more_connections_than_there_is_room_for(self):
        held = []
        try:
            for _ in range(600):
                held.append(self.server.raw())
        except OSError:
            pass
        self.lives()  # at once, while they are held
        for client in held:
            client.close()

    def test_answers_are_not_crossed(self):
        batches = [64, 128, 256, 512, 1024, 2048]
        expected = {b: self.server.post("predict", {**SMALL, "global_batch": b})[2] for b in batches}
        wrong = []

        def ask(batch):
            connection = self.server.connection()
            for _ in range(20):
                if self.server.post("predict", {**SMALL, "global_batch": batch}, connection=connection)[2] != expected[batch]:
                    wrong.append(batch)

        threads = [threading.Thread(target=ask, args=(b,)) for b in batches]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])
        self.assertEqual(len(set(expected.values())), len(batches))

    def test_pipelined_requests_come_back_in_order(self):
        one = b"GET /api/v1/list/%s HTTP/1.1\r\nHost: localhost\r\n\r\n"
        last = b"GET /nothing HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        with self.server.raw(one % b"gpus" + one % b"recipes" + last) as client:
            data = read_all(client)
        places = [data.index(b"h200-141gb-sxm"), data.index(b"fp8"), data.index(b"HTTP/1.1 404")]
        self.assertEqual(places, sorted(places))

    def test_memory_stays_flat(self):
        requests = 100_000 if LONG else 2_000
        connection = self.server.connection()
        for i in range(500):
            self.server.post("predict", {**SMALL, "global_batch": 8 * (1 + i % 100)}, connection=connection)
        before = self.server.memory_kb()
        for i in range(requests):
            status, _, _ = self.server.post("predict", {**SMALL, "global_batch": 8 * (1 + i % 100)}, connection=connection)
            self.assertEqual(status, 200)
        after = self.server.memory_kb()
        print(f"{requests} predicts: {before} KiB before, {after} KiB after", file=sys.stderr)
        self.assertLess(after, before + FLAT_MIB * 1024)


class Searches(unittest.TestCase):
    def setUp(self):
        self.server = Server(PROGRAM)

    def tearDown(self):
        status, log = self.server.end()
        self.assertEqual(status, 0, log[-2000:])
        self.assertNotIn("AddressSanitizer", log)

    def start(self, request=ENDLESS):
        status, answer = self.server.json("POST", "/api/v1/search", request)
        self.assertEqual(status, 202, answer)
        return answer["id"]

    def wait(self, id_, states, within=300):
        end = time.monotonic() + within
        while time.monotonic() < end:
            status, look = self.server.json("GET", "/api/v1/search/" + id_)
            self.assertEqual(status, 200)
            if look["state"] in states:
                return look
            time.sleep(0.05)
        self.fail(f"not {states} within {within} s: {look}")

    def test_progress_stop_and_the_best_so_far(self):
        id_ = self.start()
        self.assertRegex(id_, "^[0-9a-f]{32}$")
        self.wait(id_, ["running"])
        end = time.monotonic() + 300
        while time.monotonic() < end:
            progress = self.server.json("GET", "/api/v1/search/" + id_)[1]
            if progress["best_s"]:
                break
            time.sleep(0.1)
        self.assertGreater(progress["all"], 0)
        self.assertGreater(progress["best_s"], 0)
        self.assertEqual(self.server.ask("POST", f"/api/v1/search/{id_}/stop", "{}")[0], 200)
        look = self.wait(id_, ["done"])
        self.assertTrue(look["answer"]["interrupted"])
        self.assertTrue(look["answer"]["best"])

    def test_cancelled_searches_give_the_machine_back(self):
        first, second = self.start(), self.start(QUICK)
        self.wait(first, ["running"])
        self.assertEqual(self.server.json("GET", "/api/v1/search/" + second)[1]["before"], 1)
        self.assertEqual(self.server.ask("DELETE", "/api/v1/search/" + first)[0], 200)
        self.assertEqual(self.server.ask("GET", "/api/v1/search/" + first)[0], 404)
        self.assertEqual(self.server.ask("DELETE", "/api/v1/search/" + first)[0], 404)
        self.wait(second, ["done"])

    def test_a_full_queue_says_so(self):
        ids = [self.start() for _ in range(1)]
        self.wait(ids[0], ["running"])
        ids += [self.start() for _ in range(8)]
        status, answer = self.server.json("POST", "/api/v1/search", ENDLESS)
        self.assertEqual(status, 429)
        self.assertIn("too many searches", answer["error"]["message"])
        for id_ in ids:
            self.server.ask("DELETE", "/api/v1/search/" + id_)
        self.wait(self.start(QUICK), ["done"])

    def test_a_client_that_leaves(self):
        for _ in range(5):
            with self.server.raw(b"POST /api/v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                                 b"Content-Length: %d\r\n\r\n%s" % (len(json.dumps(QUICK)), json.dumps(QUICK).encode())):
                pass  # closed without reading the id
        self.wait(self.start(QUICK), ["done"])
        self.assertEqual(self.server.post("predict", SMALL)[0], 200)

    def test_predicts_beside_a_search(self):
        id_ = self.start()
        self.wait(id_, ["running"])
        for _ in range(20):
            self.assertEqual(self.server.post("predict", SMALL)[0], 200)
        self.assertEqual(self.server.json("GET", "/api/v1/search/" + id_)[1]["state"], "running")

    def test_it_ends_cleanly_in_a_search(self):
        self.wait(self.start(), ["running"])
        begin = time.monotonic()
        status, _ = self.server.end(signal.SIGINT)
        self.assertEqual(status, 0)
        self.assertLess(time.monotonic() - begin, 15)


class Ends(unittest.TestCase):
    def test_kill_leaves_nothing_behind(self):
        with tempfile.TemporaryDirectory() as folder:
            server = Server(PROGRAM, env={**os.environ, "TMPDIR": folder, "HOME": folder})
            server.post("predict", SMALL)
            server.json("POST", "/api/v1/search", ENDLESS)
            children = subprocess.run(["pgrep", "-P", str(server.process.pid)], capture_output=True, text=True).stdout
            self.assertEqual(children, "")
            server.end(signal.SIGKILL)
            self.assertEqual(os.listdir(folder), [])
            with self.assertRaises(OSError):
                socket.create_connection(("127.0.0.1", server.port), timeout=2)
            again = subprocess.Popen([PROGRAM, "serve", "--port", str(server.port)], stdout=subprocess.PIPE, text=True)
            self.assertIn(f":{server.port}/", again.stdout.readline())  # its port is free at once
            again.terminate()
            self.assertEqual(again.wait(10), 0)
            again.stdout.close()

    def test_a_taken_port_is_told(self):
        with Server(PROGRAM) as server:
            second = subprocess.run([PROGRAM, "serve", "--port", str(server.port)], capture_output=True, text=True, timeout=20)
            self.assertEqual(second.returncode, 2)
            self.assertIn("cannot listen", second.stderr)

    def test_an_address_that_others_reach_is_warned_of(self):
        with Server(PROGRAM, "--host", "0.0.0.0") as server:
            self.assertEqual(server.ask("GET", "/api/v1", headers={"Host": "192.168.1.7"})[0], 200)
            self.assertEqual(server.ask("GET", "/api/v1", headers={"Host": "evil.example"})[0], 421)
            self.assertIn("warning", server.end()[1])

    def test_the_log_has_a_line_a_request(self):
        server = Server(PROGRAM)
        server.post("predict", SMALL)
        server.ask("GET", "/a%0ab")
        log = server.end()[1].splitlines()
        self.assertRegex(log[0], r'^\S+Z 127\.0\.0\.1 "POST /api/v1/predict" 200 \d+ bytes [\d.]+ ms$')
        self.assertIn('"GET /a%0ab" 404', log[1])
        self.assertEqual(len(log), 2)

    def test_the_log_tells_who_left(self):
        long = json.dumps({**SMALL, "over": "seq=512..2048/1500"}).encode()
        large = json.dumps({"model": "gpt-1t", "cluster": "dgx-h100", "gpus": 16384, "global_batch": 16384, "seq": 2048,
                            "stack": "megatron", "plan": "tp=8,pp=64", "views": {"timeline": True}}).encode()
        head = b"POST /api/v1/%s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
        server = Server(PROGRAM)
        server.raw(head % (b"over", len(long)) + long).close()
        with server.raw(head % (b"predict", len(large)) + large):  # whose answer of megabytes nobody reads
            end = time.monotonic() + 60
            while time.monotonic() < end and len(server.log) < 2:
                time.sleep(0.1)
        log = server.end()[1].splitlines()
        self.assertRegex(log[0], r'"POST /api/v1/over" left 0 bytes [\d.]+ ms$')
        self.assertRegex(log[1], r'"POST /api/v1/predict" left [1-9]\d* bytes [\d.]+ ms$')

    def test_presets_of_ones_own_are_read_at_the_start(self):
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(folder + "/models")
            with open(folder + "/models/mine.yaml", "w") as file:
                file.write("hidden: 64\nlayers: 2\nheads: 2\nffn: 256\nmlp: gelu\nnorm: layernorm\npositions: rope\n"
                           "vocab: 512\ntied: true\nbiases: true\n")
            with Server(PROGRAM, "--presets", folder) as server:
                os.remove(folder + "/models/mine.yaml")
                request = {**SMALL, "model": "mine", "seq": 64}
                self.assertEqual(server.post("predict", request)[0], 200)


if __name__ == "__main__":
    unittest.main(warnings="ignore")
