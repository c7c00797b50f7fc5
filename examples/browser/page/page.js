// Draws a region of an array, in grey from its least to its greatest element.
import { load } from "./ndzarr.js";

// How much of each axis is drawn at first, in elements.
const START = 512;

const form = document.querySelector("form");
const status = document.querySelector("#status");
const canvas = document.querySelector("canvas");
const ndzarr = await load("browser.wasm");

async function show() {
  const about = await ndzarr.open(form.url.value, form.path.value);
  const { format, data_type, shape, chunk_shape, shard_shape } = about;
  const axes = drawnAxes(about);
  form.region.value ||= shape.map((n, axis) => (axes.includes(axis) ? `0:${Math.min(n, START)}` : "0")).join(", ");
  const region = parse(form.region.value, shape);
  const lengths = region.map(([start, end]) => end - start);
  const elements = await ndzarr.read(region, data_type);
  const n = lengths.reduce((product, length) => product * length, 1);
  if (elements.length !== n) throw new Error(`elements of the type ${data_type} cannot be drawn`);
  const [least, greatest] = draw(elements, lengths, axes);
  const shards = shard_shape ? `, shards of ${shard_shape.join(" × ")}` : "";
  status.textContent =
    `${format}, ${data_type}, ${shape.join(" × ") || "one element"}, chunks of ${chunk_shape.join(" × ")}${shards}\n` +
    `drawn from ${least} to ${greatest}`;
}

// The axes that go down and across: the last two, and the first two of N5, whose fastest axis is the first.
function drawnAxes({ format, shape: { length } }) {
  return (format === "N5" ? [1, 0] : [length - 2, length - 1]).filter((axis) => axis >= 0 && axis < length);
}

// A region like "3, 0:10, :", with an entry for each axis.
function parse(text, shape) {
  const entries = text.split(",").map((entry) => entry.trim()).filter((entry) => entry !== "");
  if (entries.length !== shape.length) throw new Error(`the array has ${shape.length} axes`);
  return entries.map((entry, axis) => {
    const [start, end] = entry.split(":");
    const from = Number(start || 0);
    return [from, end === undefined ? from + 1 : Number(end || shape[axis])];
  });
}

// Returns the least and the greatest element, which are black and white.
function draw(elements, lengths, axes) {
  const numbers = Float64Array.from(elements, Number);
  const strides = lengths.map((_, axis) => lengths.slice(axis + 1).reduce((product, length) => product * length, 1));
  const [down, across] = axes.length === 2 ? axes : [undefined, ...axes];
  const height = lengths[down] ?? 1;
  const width = lengths[across] ?? 1;
  const finite = numbers.filter(Number.isFinite);
  const least = finite.reduce((a, b) => Math.min(a, b), Infinity);
  const greatest = finite.reduce((a, b) => Math.max(a, b), -Infinity);
  const image = new ImageData(width, height);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const value = numbers[y * (strides[down] ?? 0) + x * (strides[across] ?? 0)];
      const grey = Math.round((255 * (value - least)) / (greatest - least || 1));
      // What is not a number is transparent.
      image.data.set([grey, grey, grey, Number.isNaN(value) ? 0 : 255], 4 * (y * width + x));
    }
  }
  canvas.width = width;
  canvas.height = height;
  canvas.getContext("2d").putImageData(image, 0, 0);
  return [least, greatest];
}

async function run() {
  document.body.dataset.state = "busy";
  status.textContent = "";
  try {
    await show();
    document.body.dataset.state = "drawn";
  } catch (error) {
    if (error.name === "AbortError") return;
    status.textContent = String(error);
    document.body.dataset.state = "failed";
  }
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  history.replaceState(null, "", `?${new URLSearchParams(new FormData(form))}`);
  run();
});
const parameters = new URLSearchParams(location.search);
for (const name of ["url", "path", "region"]) form[name].value = parameters.get(name) ?? "";
if (form.url.value) await run();
