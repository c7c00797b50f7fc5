"""Hosts that are network namespaces of this machine."""

import contextlib
import os
import subprocess
import time

#: How long a program has to begin its work, in seconds.
PATIENCE = 120

N_HOSTS = 2


def run(*command):
    done = subprocess.run(list(map(str, command)), stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        raise OSError(f"{' '.join(map(str, command))}: {done.stderr.strip()}")


def until(ready, what, patience=PATIENCE):
    """Waits until `ready()` is true, and returns what it returned."""
    end = time.monotonic() + patience
    while not (found := ready()):
        if time.monotonic() > end:
            raise TimeoutError(f"{what}: not after {patience} s")
        time.sleep(0.005)
    return found


class Network:
    """A network namespace for each host, and a bridge between them."""

    def __init__(self):
        pid = os.getpid()
        self._bridge = f"nz{pid}b"
        self._names = [f"nz{pid}h{host}" for host in range(N_HOSTS)]
        # A range that no network uses (RFC 2544).
        self._net = f"198.18.{pid % 256}"
        self.address = f"{self._net}.1"
        try:
            run("ip", "link", "add", self._bridge, "type", "bridge")
            run("ip", "address", "add", f"{self.address}/24", "dev", self._bridge)
            run("ip", "link", "set", self._bridge, "up")
            for host, name in enumerate(self._names):
                run("ip", "netns", "add", name)
                run("ip", "link", "add", f"{name}v", "type", "veth", "peer", "name", "eth0", "netns", name)
                run("ip", "link", "set", f"{name}v", "master", self._bridge, "up")
                run("ip", "-n", name, "address", "add", f"{self.of(host)}/24", "dev", "eth0")
                run("ip", "-n", name, "link", "set", "eth0", "up")
                run("ip", "-n", name, "link", "set", "lo", "up")
        except OSError:
            self.close()
            raise

    def of(self, host):
        return f"{self._net}.{host + 2}"

    def name(self, host):
        return self._names[host]

    def command(self, host):
        return ["ip", "netns", "exec", self._names[host]]

    def close(self):
        for name in self._names:
            with contextlib.suppress(OSError):
                run("ip", "netns", "delete", name)
        with contextlib.suppress(OSError):
            run("ip", "link", "delete", self._bridge)
