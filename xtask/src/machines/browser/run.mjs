// Reads arrays of testdata/ in Chromium, with the example: node run.mjs BROWSER.WASM
//
// The page comes from one server, the arrays from others, so from other origins. What the page got comes back to the
// judge, here, and is compared with what other programs wrote.
import { execFileSync } from "node:child_process";
import { mkdtemp, readFile, readdir, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { serve } from "../../../../examples/browser/serve.mjs";
import { chromium } from "./chromium.mjs";

const root = join(import.meta.dirname, "../../../..");
const testdata = join(root, "testdata");
const FAMILIES = ["zarr2", "zarr3", "draft", "n5"];
// The most bytes of the module, compressed.
const MOST_BYTES = 700_000;
// What the compiler assumes of every browser.
const FEATURES = ["bulk-memory", "multivalue", "mutable-globals", "nontrapping-float-to-int", "reference-types", "sign-ext"];
// What is not there, or not asked for: the page has no use for elements of variable size.
const LEFT_OUT = [/codec "(lzma|zfpy)" is not part of this build/, /(string|bytes|json|vlen-array\S*) has no fixed size/];

const failures = [];
const left_out = new Map();
let passed = 0;

// A check passes if `what`, the deviation, is empty.
function check(name, what) {
  if (what) failures.push(`${name}: ${what}`);
  else passed += 1;
  console.log(`test browser::${name} ... ${what ? "FAILED" : "ok"}`);
}

// The arrays of testdata/, with what is expected of them.
async function cases() {
  const all = [];
  for (const family of FAMILIES) {
    for (const name of (await readdir(join(testdata, family))).sort()) {
      const folder = join(testdata, family, name);
      const toml = await readFile(join(folder, "case.toml"), "utf8");
      const member = (name) => new RegExp(`^${name} = "?(.*?)"?$`, "m").exec(toml)?.[1];
      if (member("kind") !== "array" || member("open_as")) continue;
      const { shape, data_type } = JSON.parse(await readFile(join(folder, "expected.json"), "utf8"));
      const bytes = await readFile(join(folder, "expected.bin"));
      all.push({ name: `${family}/${name}`, path: member("node"), shape, data_type, bytes });
    }
  }
  return all;
}

// What the page draws: of each format, with and without shards. `region` has a number or a range for each axis;
// without it all is drawn.
const DRAWN = [
  { name: "zarr2/zp2-edges-2d" },
  { name: "zarr2/zp2-edges-3d", region: [1, [0, 3], [2, 4]] },
  { name: "zarr3/zp3-gzip-5" },
  { name: "zarr3/zp3-dtype-f8-le" },
  { name: "zarr3/zp3-dtype-i8-be" },
  { name: "zarr3/zp3-edges-1d" },
  { name: "zarr3/zp3-shard-inner-gzip", region: [[0, 2], [0, 3]] },
  { name: "zarr3/zp3-shard-inner-blosc" },
  { name: "zarr3/zp3-shard-nested", server: "without ranges" },
  { name: "zarr3/zp3-shard-start", server: "secretive" },
  { name: "draft/zp2-compressor-gzip" },
  { name: "draft/zp2-shard-gzip" },
  { name: "n5/java-gzip" },
  { name: "n5/z5-compressor-blosc-lz4-1" },
];

const ARRAYS = {
  bool: Uint8Array, int8: Int8Array, int16: Int16Array, int32: Int32Array, int64: BigInt64Array, uint8: Uint8Array,
  uint16: Uint16Array, uint32: Uint32Array, uint64: BigUint64Array, float32: Float32Array, float64: Float64Array,
};

// The pixels of a region, from the elements that another program wrote.
function pixels({ name, shape, data_type, bytes }, region = shape.map((n) => [0, n])) {
  const all = Array.from(new ARRAYS[data_type](new Uint8Array(bytes).buffer), Number);
  const at = (index) => all[index.reduce((sum, i, axis) => sum * shape[axis] + i, 0)];
  const ranges = region.map((entry) => (Array.isArray(entry) ? entry : [entry, entry + 1]));
  // Across goes the fastest axis: the last, and in N5 the first.
  const n = shape.length;
  const [down, across] = name.startsWith("n5/") ? [1, 0] : [n - 2, n - 1];
  const [top, bottom] = ranges[down] ?? [0, 1];
  const [left, right] = ranges[across];
  const values = [];
  for (let y = top; y < bottom; y++) {
    for (let x = left; x < right; x++) {
      values.push(at(ranges.map(([start], axis) => (axis === across ? x : axis === down ? y : start))));
    }
  }
  const finite = values.filter(Number.isFinite);
  const [least, greatest] = [Math.min(...finite), Math.max(...finite)];
  const grey = (value) => Math.min(255, Math.max(0, Math.round((255 * (value - least)) / (greatest - least || 1))));
  const rgba = values.flatMap((value) => (Number.isNaN(value) ? [0, 0, 0, 0] : [...Array(3).fill(grey(value)), 255]));
  return { width: right - left, height: bottom - top, rgba: Buffer.from(rgba), least, greatest };
}

console.log("     Running the example in Chromium");
const folder = await mkdtemp(join(tmpdir(), "ndzarr-wasm-"));
const small = join(folder, "browser.wasm");
// What was compiled for one type after another lies together, where gzip sees that it is alike.
const PASSES = ["-Oz", "--reorder-functions-by-name", "--strip-debug"];
execFileSync("wasm-opt", [...PASSES, ...FEATURES.map((name) => `--enable-${name}`), process.argv[2], "-o", small]);
const module = await readFile(small);
const n_bytes = gzipSync(module, { level: 9 }).length;
console.log(`browser.wasm: ${module.length} bytes, ${n_bytes} compressed by gzip`);
check("the module is small", n_bytes > MOST_BYTES && `${n_bytes} bytes, more than ${MOST_BYTES}`);

const all = await cases();
const seen = [];
const note = ({ method, url, headers }, status) => seen.push({ method, url, range: headers.range, status });
let n_tags = 0;
const servers = {
  pages: await serve([folder, join(root, "examples/browser/page"), import.meta.dirname]),
  read: await serve([testdata]),
  drawn: await serve([testdata], { seen: note }),
  "without ranges": await serve([testdata], { ranges: false }),
  secretive: await serve([testdata], { open: { "Access-Control-Allow-Origin": "*" } }),
  changing: await serve([testdata], { tag: () => ++n_tags }),
};
const origin = (server) => `http://127.0.0.1:${server.address().port}`;
const place = (server, { name, path }) => ({ url: `${origin(servers[server])}/${name}/store`, path });
const text = (region) => region.map((entry) => (Array.isArray(entry) ? entry.join(":") : entry)).join(", ");
const drawn = DRAWN.map(({ name, region, server = "drawn" }) => ({ case: all.find((one) => one.name === name), region, server }));
const sharded = all.find((one) => one.name === "zarr3/zp3-shard-inner-gzip");

const got = new Map();
const judge = createServer();
const done = new Promise((resolve) => {
  judge.on("request", async (request, response) => {
    const name = decodeURIComponent(request.url.slice(1));
    response.writeHead(200, { "Access-Control-Allow-Origin": "*" });
    if (name === "cases.json") {
      const read = all.map((one) => ({ name: `read/${one.name}`, place: place("read", one) }));
      const draw = drawn.map((one) => ({
        name: `drawn/${one.case.name}`, place: place(one.server, one.case), region: one.region ? text(one.region) : "",
      }));
      draw.push({ name: "no array", place: place("drawn", { name: "zarr3/nothing", path: "" }), region: "" });
      draw.push({ name: "changing", place: place("changing", sharded), region: "" });
      response.end(JSON.stringify({ read, drawn: draw }));
      return;
    }
    const body = Buffer.concat(await request.toArray());
    const line = body.indexOf("\n");
    got.set(name, { ...JSON.parse(body.subarray(0, line)), bytes: body.subarray(line + 1) });
    response.end();
    if (name === "end") resolve();
  });
});
await new Promise((resolve) => judge.listen(0, "127.0.0.1", resolve));
await chromium(`${origin(servers.pages)}/test.html?${origin(judge)}`, done, ["disable-gpu"]);

for (const { name, shape, bytes } of all) {
  const { about, error, bytes: elements } = got.get(`read/${name}`) ?? { error: "no outcome" };
  const reason = LEFT_OUT.map((reason) => reason.exec(error)?.[1]).find(Boolean);
  if (reason) {
    left_out.set(reason, (left_out.get(reason) ?? 0) + 1);
    continue;
  }
  const is_shape = () => JSON.stringify(about.shape) === JSON.stringify(shape);
  check(name, error ?? (is_shape() ? !elements.equals(bytes) && "other elements" : `the shape ${about.shape}`));
}
for (const { case: one, region } of drawn) {
  const { state, status, width, height, bytes } = got.get(`drawn/${one.name}`);
  const expected = pixels(one, region);
  const is_size = width === expected.width && height === expected.height;
  const says = status.includes(`drawn from ${expected.least} to ${expected.greatest}`);
  check(`drawn ${one.name}`, !(state === "drawn" && is_size && says && bytes.equals(expected.rgba)) && `${state}, ${width} × ${height}: ${status}`);
}
const { first, bytes: second } = got.get("given up");
check("a read is given up for the next", !(first === "AbortError" && second.equals(all[0].bytes)) && first);
for (const [name, what] of [["no array", "no array or group"], ["changing", "keeps changing"]]) {
  const { state, status } = got.get(name);
  check(`${name}, an error`, !(state === "failed" && status.includes(what)) && `${state}: ${status}`);
}
// One inner chunk of the first shard: its size, its index, the inner chunk.
const requests = seen.filter(({ url }) => url.includes(`${sharded.name}/store/c/`));
const kinds = requests.map(({ method, status, url }) => `${method} ${status} ${url.slice(-5)}`).join(", ");
check("only parts of a shard are fetched", kinds !== "HEAD 200 c/0/0, GET 206 c/0/0, GET 206 c/0/0" && kinds);

for (const [what, n] of left_out) console.log(`left out: ${n} of ${what}`);
for (const failure of failures) console.log(failure);
console.log(`test result: ${failures.length ? "FAILED" : "ok"}. ${passed} passed; ${failures.length} failed`);
await rm(folder, { recursive: true });
process.exit(failures.length ? 1 : 0);
