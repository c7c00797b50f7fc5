// Has neuroglancer in Chromium read over HTTP with ranges, from another origin: node neuroglancer.mjs FOLDER CLIENT VERSION
//
// CLIENT is the folder of its page. The page neuroglancer.html asks it for each element and hands over what it got.
import { mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { serve } from "../../../../examples/browser/serve.mjs";
import { chromium } from "../../machines/browser/chromium.mjs";
import { cases, compare } from "./compare.mjs";

const [folder, client] = process.argv.slice(2, 4).map((path) => resolve(path));
const version = process.argv[4];
const all = await cases(folder, ["zarr2", "zarr3", "n5", "ome"]);
const files = await serve([folder]);
// The client of the Python package takes the name of a session from its path.
const root = await mkdtemp(join(tmpdir(), "ndzarr-clients-"));
await mkdir(join(root, "v"));
await symlink(client, join(root, "v/page"));
const pages = await serve([root, import.meta.dirname]);
const origin = (server) => `http://127.0.0.1:${server.address().port}`;
const driver = { zarr2: "zarr2", zarr3: "zarr3", n5: "n5", ome: "zarr" };

// The finest level of an image is that of the image, others are arrays of their own.
const source = ({ store, node, format, level }) => `${driver[format]}://${origin(files)}/${store}${level === 0 ? "" : `/${node}`}`;

const got = new Map();
const judge = createServer();
const done = new Promise((resolve) => {
  judge.on("request", async (request, response) => {
    const name = decodeURIComponent(request.url.slice(1));
    response.writeHead(200, { "Access-Control-Allow-Origin": "*" });
    if (name === "cases.json") {
      // The axes of N5 are shown in its own order.
      const asked = all.map((one) => ({ name: one.name, source: source(one), shape: one.format === "n5" ? one.shape.toReversed() : one.shape }));
      return response.end(JSON.stringify(asked));
    }
    const body = Buffer.concat(await request.toArray()).toString();
    response.end();
    if (name === "end") return resolve();
    got.set(name, JSON.parse(body));
  });
});
await new Promise((resolve) => judge.listen(0, "127.0.0.1", resolve));
await chromium(`${origin(pages)}/neuroglancer.html?${origin(judge)}`, done, ["use-angle=swiftshader", "enable-unsafe-swiftshader", "window-size=1000,800"]);

// The elements in C order of an array whose axes are reversed: in F order.
function transposed(elements, shape) {
  const strides = shape.map((_, axis) => shape.slice(0, axis).reduce((a, b) => a * b, 1));
  return elements.map((_, i) => {
    let [at, rest] = [0, i];
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      at += (rest % shape[axis]) * strides[axis];
      rest = Math.floor(rest / shape[axis]);
    }
    return elements[at];
  });
}

// Metres, of the micrometres of the case.
const metres = (scale) => JSON.stringify(scale.map((n) => (n * 1e-6).toPrecision(6)));

await compare("neuroglancer", version, all, ({ name, dtype, shape, format, level, scale, axes }) => {
  const { error, elements, names, scales } = got.get(name) ?? { error: "no answer" };
  if (error) throw error;
  const typed = elements.map((value) => (dtype.endsWith("64") && dtype.includes("int") ? BigInt(value) : dtype === "bool" ? value !== "0" : Number(value)));
  let differs = "";
  if (level === 0 && (names.join("") !== axes || metres(scales.map((n) => n * 1e6)) !== metres(scale))) differs = `axes ${names} and scale ${scales}`;
  return { shape, elements: format === "n5" ? transposed(typed, shape) : typed, differs };
});
await rm(root, { recursive: true });
process.exit(0);
