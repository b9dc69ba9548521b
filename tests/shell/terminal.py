"""A terminal of a given size that a program believes in, and what it writes there."""
import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time


class Terminal:
    def __init__(self, arguments, columns=80, environment=None, folder=None):
        self.text = ""
        self.child, self.end = pty.fork()
        if self.child == 0:
            if folder:
                os.chdir(folder)
            for name in ("COLUMNS", "NO_COLOR", "LC_ALL", "LC_CTYPE", "LANG"):
                os.environ.pop(name, None)
            os.environ.update({"TERM": "xterm", **(environment or {})})
            time.sleep(0.05)  # until the size below is set
            os.execvp(arguments[0], arguments)
        fcntl.ioctl(self.end, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))

    def send(self, text):
        os.write(self.end, text.encode())

    def read_until(self, done, seconds=60):
        """Reads until `done` holds of what has come, or the program ends; False after so many seconds."""
        until = time.monotonic() + seconds
        while not done(self.text):
            left = until - time.monotonic()
            if left <= 0:
                return False
            ready, _, _ = select.select([self.end], [], [], min(left, 1))
            if not ready:
                continue
            try:
                part = os.read(self.end, 65536)
            except OSError:  # the other end is closed
                part = b""
            if not part:
                return done(self.text)
            self.text += part.decode("utf-8", "replace")
        return True

    def whole(self, seconds=120):
        self.read_until(lambda text: False, seconds)
        return self.text.replace("\r\n", "\n")

    def close(self):
        os.close(self.end)
        try:
            os.kill(self.child, signal.SIGKILL)
        except ProcessLookupError:
            pass
        return os.waitpid(self.child, 0)[1]
