"""The program as a server on a port of its own, and what clients do to it."""
import http.client
import json
import re
import signal
import socket
import subprocess
import threading
import time


class Server:
    def __init__(self, program, *words, env=None):
        self.process = subprocess.Popen([program, "serve", "--port", "0", *words], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, env=env)
        self.log = []
        line = self.process.stdout.readline()
        found = re.search(r":(\d+)/", line)
        if not found:
            raise AssertionError(f"it did not start: {line!r} {self.process.stderr.read()}")
        self.port = int(found[1])
        # Read as it comes: who does not read what a program says stops it.
        self.reader = threading.Thread(target=lambda: self.log.extend(self.process.stderr), daemon=True)
        self.reader.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def end(self, sent=signal.SIGTERM, within=60):
        """Its exit status and what it wrote on stderr."""
        if self.reader is None:
            return self.process.returncode, "".join(self.log)
        if self.process.poll() is None:
            self.process.send_signal(sent)
        status = self.process.wait(timeout=within)
        self.reader.join()
        self.reader = None
        self.process.stdout.close()
        self.process.stderr.close()
        return status, "".join(self.log)

    def connection(self, timeout=60):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def ask(self, method, path, body=None, headers=None, connection=None):
        """(status, headers, bytes)"""
        own = connection or self.connection()
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
        given = {"Content-Type": "application/json"} if body is not None else {}
        own.request(method, path, body=body, headers={**given, **(headers or {})})
        answer = own.getresponse()
        text = answer.read()
        if connection is None:
            own.close()
        return answer.status, dict(answer.getheaders()), text

    def post(self, verb, request, **more):
        return self.ask("POST", "/api/v1/" + verb, request, **more)

    def json(self, method, path, body=None):
        status, _, text = self.ask(method, path, body)
        return status, json.loads(text)

    def search(self, request, within=300):
        """The answer's text of a search that is waited for."""
        status, started = self.json("POST", "/api/v1/search", request)
        if status != 202:
            return status, json.dumps(started)
        end = time.monotonic() + within
        while time.monotonic() < end:
            _, _, text = self.ask("GET", "/api/v1/search/" + started["id"])
            look = json.loads(text)
            if look["state"] in ("done", "failed"):
                text = text.decode()
                if look["state"] == "failed":
                    return 422, json.dumps({"error": look["error"]})
                begin = text.index('"answer": ') + len('"answer": ')
                return 200, text[begin:text.index(',\n"error": null')]
            time.sleep(0.02)
        raise AssertionError("the search does not end")

    def raw(self, data=b"", timeout=10):
        client = socket.create_connection(("127.0.0.1", self.port), timeout=timeout)
        if data:
            client.sendall(data)
        return client

    def memory_kb(self):
        with open(f"/proc/{self.process.pid}/status") as file:
            return int(re.search(r"VmRSS:\s+(\d+)", file.read())[1])


def read_all(client):
    """What comes until the other side closes."""
    data = b""
    try:
        while True:
            more = client.recv(65536)
            if not more:
                return data
            data += more
    except (ConnectionError, socket.timeout):
        return data
