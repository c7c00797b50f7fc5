// What the clients in JavaScript share: the arrays of client_arrays.py, the comparison, and the lines that are printed.
import { readFile } from "node:fs/promises";
import { join } from "node:path";

const little = (read, size) => (bytes) =>
  Array.from({ length: bytes.byteLength / size }, (_, i) => read(new DataView(bytes.buffer, bytes.byteOffset), i * size));

// A half: a sign, 5 bits of the exponent, 10 of the fraction.
const half = (view, at) => {
  const bits = view.getUint16(at, true);
  const [exponent, fraction] = [(bits >> 10) & 31, bits & 1023];
  const size = exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -14 * (fraction / 1024);
  return bits >> 15 ? -size : size;
};

const ELEMENTS = {
  bool: little((view, at) => view.getUint8(at) !== 0, 1),
  int8: little((view, at) => view.getInt8(at), 1),
  int16: little((view, at) => view.getInt16(at, true), 2),
  int32: little((view, at) => view.getInt32(at, true), 4),
  int64: little((view, at) => view.getBigInt64(at, true), 8),
  uint8: little((view, at) => view.getUint8(at), 1),
  uint16: little((view, at) => view.getUint16(at, true), 2),
  uint32: little((view, at) => view.getUint32(at, true), 4),
  uint64: little((view, at) => view.getBigUint64(at, true), 8),
  float16: little(half, 2),
  float32: little((view, at) => view.getFloat32(at, true), 4),
  float64: little((view, at) => view.getFloat64(at, true), 8),
  // Pairs, which no client has.
  complex64: little((view, at) => [view.getFloat32(at, true), view.getFloat32(at + 4, true)].join(), 8),
};

// The cases of these formats, with their elements.
export async function cases(folder, formats) {
  const all = JSON.parse(await readFile(join(folder, "cases.json"), "utf8")).filter(({ format }) => formats.includes(format));
  for (const one of all) {
    one.elements = ELEMENTS[one.dtype](await readFile(join(folder, one.expected)));
    if (!one.elements.length || one.elements.length !== one.shape.reduce((a, b) => a * b)) throw new Error(`${one.name}: no elements are compared`);
  }
  return all;
}

// What differs, or nothing.
export function difference({ shape, elements }, got) {
  if (JSON.stringify(got.shape) !== JSON.stringify(shape)) return `the shape ${JSON.stringify(got.shape)}`;
  if (got.elements.length !== elements.length) return `${got.elements.length} elements`;
  const wrong = elements.map((_, i) => i).filter((i) => !Object.is(got.elements[i], elements[i]) && got.elements[i] !== elements[i]);
  if (!wrong.length) return "";
  let [index, rest] = [[], wrong[0]];
  for (const n of shape.toReversed()) [index, rest] = [[rest % n, ...index], Math.floor(rest / n)];
  return `${wrong.length} of ${elements.length} elements; at [${index.join(", ")}] ${got.elements[wrong[0]]}, not ${elements[wrong[0]]}`;
}

export function say(client, version, { name }, result, detail = "") {
  console.log(JSON.stringify([client, version, name, result, detail.split("\n")[0]]));
}

// Reads all cases with `read`, which gives a shape, elements in C order and, if any, what else differs.
export async function compare(client, version, all, read) {
  for (const one of all) {
    try {
      const got = await read(one);
      const what = difference(one, got) || got.differs;
      say(client, version, one, what ? "differs" : "agrees", what ?? "");
    } catch (error) {
      say(client, version, one, "refuses", String(error));
    }
  }
}
