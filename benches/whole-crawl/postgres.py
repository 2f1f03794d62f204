"""A PostgreSQL server of a measurement, on a Unix socket."""

import glob
import os
import shutil
import subprocess

NOBODY = 65534


class Postgres:
    """A server of its own on a Unix socket. It refuses to run as root: then it runs as nobody."""

    def __init__(self, directory):
        found = shutil.which("initdb") or max(glob.glob("/usr/lib/postgresql/*/bin/initdb"), default=None)
        if not found:
            raise SystemExit("PostgreSQL isn't installed (Debian: apt-get install postgresql)")
        self.programs = os.path.dirname(os.path.realpath(found))
        self.directory, self.data = directory, os.path.join(directory, "data")
        self.user = {"user": NOBODY, "group": NOBODY} if os.geteuid() == 0 else {}

    def run(self, program, *words):
        command = [os.path.join(self.programs, program), *words]
        done = subprocess.run(command, capture_output=True, text=True, cwd="/", **self.user)
        if done.returncode:
            raise SystemExit(f"{program}: {done.stderr}")
        return done.stdout.strip()

    def __enter__(self):
        if self.user:
            os.chown(self.directory, NOBODY, NOBODY)
        self.run("initdb", "-U", "crawl", "-A", "trust", "-E", "UTF8", "--locale=C", "-D", self.data)
        # As configured by default, but for the place of the socket and the number of connections.
        settings = f"-c listen_addresses= -c max_connections=300 -k {self.directory}"
        log = os.path.join(self.directory, "log")
        # Its output would keep the pipe open.
        command = [os.path.join(self.programs, "pg_ctl"), "-D", self.data, "-w", "-l", log, "-o", settings, "start"]
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/", check=True, **self.user)
        with open(os.path.join(self.data, "postmaster.pid")) as file:
            self.pid = int(file.readline())
        return self

    def __exit__(self, *_):
        self.run("pg_ctl", "-D", self.data, "-m", "fast", "stop")

    def url(self, name):
        return f"postgres:///{name}?user=crawl&host={self.directory}"

    def sql(self, statement, database="postgres"):
        return self.run("psql", "-X", "-q", "-A", "-t", "-U", "crawl", "-h", self.directory, "-d", database, "-c", statement)

    def cpu_s(self):
        """Of the server and of all its processes, the ended ones too."""
        ticks = 0
        for stat in glob.glob("/proc/[0-9]*/stat"):
            try:
                with open(stat) as file:
                    fields = file.read().rpartition(")")[2].split()
            except OSError:
                continue
            pid = int(stat.split("/")[2])
            if pid == self.pid:
                ticks += sum(map(int, fields[11:15]))
            elif int(fields[1]) == self.pid:
                ticks += sum(map(int, fields[11:13]))
        return ticks / os.sysconf("SC_CLK_TCK")
