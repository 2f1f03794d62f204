"""The generated web, as a process on loopback."""

import json
import os
import socket
import subprocess
import time
import urllib.request


def get(port, path):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=20) as answer:
        return answer.read().decode()


class Web:
    """The server, on a free port; `directory` is that of the program, `latency` the milliseconds that each response waits, `small` pages of 1.5 KB."""

    def __init__(self, directory, hosts, pages, latency=0, small=False):
        self.words = [os.path.join(directory, "web"), str(hosts), str(pages), str(latency)] + (["small"] if small else [])

    def __enter__(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.process = subprocess.Popen([self.words[0], str(self.port), *self.words[1:]])
        for _ in range(100):
            try:
                self.seeds = get(self.port, "/__seeds")
                return self
            except OSError:
                time.sleep(0.1)
        raise SystemExit("the generated web didn't start")

    def stats(self):
        return json.loads(get(self.port, "/__stats"))

    def __exit__(self, *_):
        try:
            get(self.port, "/__quit")
            self.process.wait(5)
        except (OSError, subprocess.TimeoutExpired):
            self.process.kill()
