// Chromium without a screen, for pages of this machine.
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

// What Chromium may take, in seconds. A hang ends with an error.
const PATIENCE = 300;

// Shows a page in Chromium until `done`, which must not take forever.
export async function chromium(url, done, more_flags) {
  const profile = await mkdtemp(join(tmpdir(), "ndzarr-chromium-"));
  const flags = [
    "headless", "no-sandbox", "disable-quic", "no-first-run", "disable-background-networking",
    "disable-component-update", "disable-sync", "disable-dev-shm-usage", "enable-logging=stderr",
    "host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", `user-data-dir=${profile}`, ...more_flags,
  ];
  const child = spawn(process.env.CHROMIUM ?? "chromium", [...flags.map((flag) => `--${flag}`), url], { stdio: ["ignore", "ignore", "pipe"] });
  // An error anywhere ends this program, and Chromium with it.
  process.on("exit", () => child.kill("SIGKILL"));
  let said = "";
  child.stderr.on("data", (text) => (said += text));
  const ended = new Promise((resolve) => child.on("close", () => resolve("Chromium ended")));
  let timer;
  const late = new Promise((resolve) => (timer = setTimeout(resolve, 1000 * PATIENCE, "Chromium took too long")));
  const what = await Promise.race([done, ended, late]);
  clearTimeout(timer);
  child.kill();
  await ended;
  await rm(profile, { recursive: true, force: true, maxRetries: 5 });
  if (what) {
    const lines = said.split("\n").filter((line) => line.includes(":CONSOLE")).join("\n");
    throw new Error(`${what}:\n${lines}`);
  }
}
