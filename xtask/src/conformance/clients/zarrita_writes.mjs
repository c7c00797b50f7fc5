// Has zarrita.js write arrays for ndzarr to read: node zarrita_writes.mjs FOLDER PACKAGES TARGET
//
// It writes Zarr v3 only, without shards, and its codecs gzip, zlib and crc32c only read. Lines are as of
// client_writes.py.
import { mkdir, readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { cases, say } from "./compare.mjs";

const [folder, packages, target] = process.argv.slice(2).map((path) => resolve(path));
const modules = join(packages, "node_modules");
const { version } = JSON.parse(await readFile(join(modules, "zarrita/package.json"), "utf8"));
const zarr = await import(join(modules, "zarrita/dist/src/index.js"));
const { default: FileSystemStore } = await import(join(modules, "@zarrita/storage/dist/src/fs.js"));

const TYPES = {
  bool: zarr.BoolArray, int8: Int8Array, int16: Int16Array, int32: Int32Array, int64: BigInt64Array, uint8: Uint8Array,
  uint16: Uint16Array, uint32: Uint32Array, uint64: BigUint64Array, float16: globalThis.Float16Array, float32: Float32Array,
  float64: Float64Array,
};

const bytes = (endian) => ({ name: "bytes", configuration: { endian } });
// Its blosc takes the number of a shuffle only, and its lz4 has two names.
const blosc = (cname, shuffle) => ({ name: "blosc", configuration: { cname, clevel: 5, shuffle, typesize: 2, blocksize: 0 } });
const OPTIONS = {
  zstd: { codecs: [bytes("little"), { name: "zstd", configuration: {} }] },
  "blosc lz4": { codecs: [bytes("little"), blosc("lz4", 1)] },
  "blosc zstd, bitshuffle": { codecs: [bytes("little"), blosc("zstd", 2)] },
  "numcodecs.lz4": { codecs: [bytes("little"), { name: "lz4", configuration: { acceleration: 1 } }] },
  "transpose, zstd": { codecs: [{ name: "transpose", configuration: { order: [1, 0] } }, bytes("little"), { name: "zstd", configuration: { level: 3 } }] },
  "big endian": { codecs: [bytes("big")] },
  "3-d": {},
  "missing chunks": { fillValue: -9 },
  "missing chunks, NaN": { fillValue: NaN },
};

function options({ name, dtype }) {
  const what = name.slice(name.indexOf(" ") + 1);
  // Unless told otherwise, it names no codec and no fill value, which 64-bit integers need.
  return what === dtype ? (dtype.endsWith("int64") ? { fillValue: 0 } : {}) : OPTIONS[what];
}

await mkdir(target, { recursive: true });
for (const one of await cases(folder, ["zarr3"])) {
  const how = options(one);
  if (!one.chunks || !how) continue;
  const { dtype, shape, store, expected } = one;
  try {
    const Elements = TYPES[dtype];
    if (!Elements) throw new Error(`no elements of ${dtype}`);
    const root = zarr.root(new FileSystemStore(join(target, store)));
    const array = await zarr.create(root.resolve("data"), { shape, chunkShape: one.chunks, dtype, ...how });
    const { buffer } = Uint8Array.from(await readFile(join(folder, expected)));
    const stride = shape.map((_, axis) => shape.slice(axis + 1).reduce((a, b) => a * b, 1));
    await zarr.set(array, null, { data: new Elements(buffer), shape, stride });
    say("zarrita.js", version, one, "wrote", "data");
  } catch (error) {
    say("zarrita.js", version, one, "refuses", String(error));
  }
}
process.exit(0);
