"""The table of figures, as ndzarr-torture prints it."""

import contextlib
import time
import traceback


class Table:
    def __init__(self):
        self.start = time.monotonic()
        self.n_rows = 0
        self.n_missed = 0

    def row(self, name, figure, of, expected):
        """`expected` is "0", "> 0", "> 0, mostly": a race that a run may not lose, or "-": anything."""
        met = {"0": figure == 0, "> 0": figure > 0, "> 0, mostly": True, "-": True}[expected]
        verdict = "" if expected == "-" else "pass" if met else "FAIL"
        self.n_rows += 1
        self.n_missed += not met
        print(f"{name:<64} {figure:>8} {of:<34} {expected:>8}  {verdict}".rstrip(), flush=True)

    @contextlib.contextmanager
    def part(self, name):
        """What cannot be run to its end has failed."""
        start = time.monotonic()
        try:
            yield
        except Exception as error:
            traceback.print_exc()
            self.n_missed += 1
            print(f"{name}: {type(error).__name__}: {error}  FAIL", flush=True)
        print(f"-- {name}: {time.monotonic() - start:.1f} s", flush=True)

    def close(self):
        seconds = time.monotonic() - self.start
        print(f"{self.n_rows} figures, {self.n_missed} missed, {seconds:.0f} s", flush=True)
        return self.n_missed != 0
