"""A Dask cluster of processes on this machine, in which each worker stands for a host."""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

from distributed import Client
from network import N_HOSTS, PATIENCE, run, until


class Loopback:
    """No network namespaces: where they cannot be made, and for servers of the loopback interface."""

    address = "127.0.0.1"

    def of(self, host):
        return self.address

    def command(self, host):
        return []

    def close(self):
        pass


class Mounts:
    """A folder that each host mounts by sshfs, at one path, with a boot id of its own."""

    def __init__(self, folder):
        self._folder = folder
        self._programs = []
        self.data = folder / "data"
        #: The path of the folder on the hosts.
        self.shared = folder / "shared"
        try:
            for name in ("data", "shared", "keys", "host0", "host1"):
                (folder / name).mkdir(parents=True)
            (folder / "boot_id").write_text("00000000-aaaa-bbbb-cccc-000000000001\n")
            port = self._serve(folder / "keys")
            for host in range(N_HOSTS):
                self._mount(host, port)
            run(*self.command(1), "true")
        except OSError:
            self.close()
            raise

    def _start(self, *command):
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self._programs.append(subprocess.Popen(list(map(str, command)), **quiet))

    def _serve(self, keys):
        for name in ("host", "user"):
            run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", keys / name)
        Path("/run/sshd").mkdir(exist_ok=True)
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        (keys / "settings").write_text(
            f"Port {port}\nListenAddress 127.0.0.1\nHostKey {keys}/host\nAuthorizedKeysFile {keys}/user.pub\n"
            "StrictModes no\nPermitRootLogin yes\nPasswordAuthentication no\nUsePAM no\nPidFile none\n"
            "Subsystem sftp internal-sftp\n"
        )
        self._start("/usr/sbin/sshd", "-D", "-f", keys / "settings")

        def answers():
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", port)).close()
                return True

        until(answers, "sshd")
        return port

    def _mount(self, host, port):
        at = self._folder / f"host{host}"
        options = [f"IdentityFile={self._folder}/keys/user", "StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null"]
        # Its cache must not hide what the other host has changed.
        options += ["BatchMode=yes", "dir_cache=no"]
        user = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
        self._start("sshfs", "-f", "-p", port, *(f"-o{option}" for option in options), f"{user}@127.0.0.1:{self.data}", at)
        (self.data / "seen").write_text("")
        until((at / "seen").exists, "sshfs")

    def command(self, host):
        mounts = 'mount --bind "$0" "$1" && mount --bind "$2" /proc/sys/kernel/random/boot_id && shift 2 && exec "$@"'
        boot_id = self._folder / "boot_id" if host else "/proc/sys/kernel/random/boot_id"
        places = [self._folder / f"host{host}", self.shared, boot_id]
        return ["unshare", "--mount", "sh", "-c", mounts, *map(str, places)]

    def close(self):
        for host in range(N_HOSTS):
            subprocess.run(["fusermount3", "-u", "-z", self._folder / f"host{host}"], capture_output=True)
        for program in reversed(self._programs):
            program.kill()
            program.wait()


class Cluster:
    """A scheduler and a worker of four threads on each host. The workers have no nanny: what is killed stays dead."""

    def __init__(self, folder, network, mounts=None, environment=None):
        self._folder = folder
        self._network = network
        self._mounts = mounts
        folder.mkdir()
        self._environment = {**os.environ, "PYTHONPATH": os.path.dirname(__file__) + ":" + os.environ.get("PYTHONPATH", "")}
        self._environment.update(environment or {})
        self._n_started = 0
        self._workers = [None] * N_HOSTS
        at = folder / "scheduler.json"
        options = ["--host", network.address, "--port", "0", "--no-dashboard", "--scheduler-file", at]
        self._scheduler = self._start([], "scheduler", options)
        try:
            until(lambda: at.exists() and at.read_text(), "the scheduler")
            self._address = json.loads(at.read_text())["address"]
            for host in range(N_HOSTS):
                self.start(host)
            self.client = Client(self._address, timeout=PATIENCE)
            self.wait()
        except BaseException:
            self.close()
            raise

    def _start(self, host, name, options):
        command = [*host, sys.executable, "-m", f"distributed.cli.dask_{name}", *map(str, options)]
        with open(self._folder / f"{name}.log", "ab") as log:
            return subprocess.Popen(command, env=self._environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def start(self, host):
        """Starts the worker of a host; it is called `host0` and so on."""
        self._n_started += 1
        files = self._folder / f"worker{self._n_started}"
        options = [self._address, "--no-nanny", "--nthreads", "4", "--memory-limit", "0", "--no-dashboard"]
        options += ["--host", self._network.of(host), "--name", f"host{host}-{self._n_started}", "--local-directory", files]
        command = self._network.command(host) + (self._mounts.command(host) if self._mounts else [])
        self._workers[host] = self._start(command, "worker", options)

    def revive(self):
        """Starts the workers again that ended: killed, or given up by a scheduler without heartbeats from them."""
        for host, worker in enumerate(self._workers):
            if worker.poll() is not None:
                self.start(host)

    def finish(self, future):
        """Waits for a result. On another host the locks of a killed worker end after 30 s."""
        until(lambda: self.revive() or future.done(), "the tasks", 5 * PATIENCE)
        return future.result()

    def wait(self):
        """Waits until all workers are connected."""
        until(lambda: self.revive() or self.n_known() == N_HOSTS, "the workers")

    def n_known(self):
        """The workers that the scheduler has not given up."""
        return len(self.client.scheduler_info(n_workers=-1)["workers"])

    def process(self, host):
        return self._workers[host]

    def close(self):
        if hasattr(self, "client"):
            self.client.close()
        for process in (*self._workers, self._scheduler):
            if process is not None:
                process.kill()
                process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)
