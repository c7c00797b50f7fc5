// Has zarrita.js and ome-zarr.js read over HTTP with ranges: node zarrita.mjs FOLDER PACKAGES
import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { serve } from "../../../../examples/browser/serve.mjs";
import { cases, compare } from "./compare.mjs";

const [folder, packages] = process.argv.slice(2).map((path) => resolve(path));
const modules = join(packages, "node_modules");
const version = async (name) => JSON.parse(await readFile(join(modules, name, "package.json"), "utf8")).version;
const ranges = [];
const server = await serve([folder], { seen: ({ url, headers }, status) => headers.range && ranges.push({ url, status }) });
const origin = `http://127.0.0.1:${server.address().port}`;

// The elements in C order, whatever the order in memory.
function in_order({ data, shape, stride }) {
  const elements = [];
  const walk = (axis, at) => {
    if (axis === shape.length) return elements.push(data.get ? data.get(at) : data[at]);
    for (let i = 0; i < shape[axis]; i++) walk(axis + 1, at + i * stride[axis]);
  };
  walk(0, 0);
  return { shape, elements };
}

const zarr = await import(join(modules, "zarrita/dist/src/index.js"));
const arrays = await cases(folder, ["zarr2", "zarr3", "n5"]);
await compare("zarrita.js", await version("zarrita"), arrays, async ({ store, node, format }) => {
  const open = format === "zarr2" ? zarr.open.v2 : zarr.open.v3;
  const array = await open(new zarr.FetchStore(`${origin}/${store}/${node}`), { kind: "array" });
  return in_order(await zarr.get(array));
});
if (!ranges.some(({ url, status }) => url.includes("v3-shards") && status === 206)) throw new Error("no part of a shard was asked for");

// It has a zarrita of its own.
const { NgffImage } = await import(join(modules, "ome-zarr.js/dist/ome-zarr.js"));
const { get } = await import(join(modules, "ome-zarr.js/node_modules/zarrita/dist/src/index.js"));
const images = await cases(folder, ["ome"]);
await compare("ome-zarr.js", await version("ome-zarr.js"), images, async ({ store, level, axes, unit, scale, translation }) => {
  const image = await NgffImage.load(`${origin}/${store}`);
  const [{ axes: named, datasets }] = image.multiscales;
  const [{ scale: found }] = datasets[level].coordinateTransformations;
  const right = named.map(({ name }) => name).join("") === axes && named.every((axis) => axis.unit === unit);
  const differs = right && JSON.stringify(found) === JSON.stringify(scale) ? "" : `axes and scale: ${JSON.stringify(named)} ${found}`;
  return { ...in_order(await get(await image.openArray(level))), differs };
});
process.exit(0);
