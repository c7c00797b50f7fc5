// A server of files, with ranges, for the page and for arrays beside it:
//
//   node examples/browser/serve.mjs FOLDER... [PORT]
//
// A path is looked for in each folder, in this order.
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";

const TYPES = { ".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".wasm": "application/wasm", ".json": "application/json" };

// What a page of another origin may see of an answer. Without the first header field it sees nothing, without the
// second it has to ask for sizes, and does not notice that a value was replaced by one of the same size.
const OPEN = {
  "Access-Control-Allow-Origin": "*",
  "Access-Control-Expose-Headers": "Content-Range, Content-Length, ETag",
};

// Starts the server. `seen` is called with each request and its status. `ranges: false` ignores ranges; `tag` makes
// the ETag of a file; `open` is what other origins may see.
export function serve(folders, { port = 0, seen = () => {}, ranges = true, tag = of_file, open = OPEN } = {}) {
  const server = createServer(async (request, response) => {
    const path = normalize(decodeURIComponent(new URL(request.url, "http://localhost").pathname));
    const file = await find(folders, path.endsWith("/") ? `${path}index.html` : path);
    const begin = (status, headers) => {
      seen(request, status);
      response.writeHead(status, { ...open, ...headers });
    };
    if (!file) {
      begin(404, {});
      return response.end();
    }
    const { name, size } = file;
    const headers = { "Content-Type": TYPES[extname(name)] ?? "application/octet-stream", ETag: `"${tag(file)}"` };
    const range = ranges && /^bytes=(\d*)-(\d*)$/.exec(request.headers.range ?? "");
    if (!range) {
      begin(200, { ...headers, "Content-Length": size });
      return request.method === "HEAD" ? response.end() : createReadStream(name).pipe(response);
    }
    const [, from, to] = range;
    const start = from ? Number(from) : Math.max(0, size - Number(to));
    const end = from && to ? Math.min(Number(to), size - 1) : size - 1;
    if (start > end) {
      begin(416, { ...headers, "Content-Range": `bytes */${size}` });
      return response.end();
    }
    begin(206, { ...headers, "Content-Length": end - start + 1, "Content-Range": `bytes ${start}-${end}/${size}` });
    createReadStream(name, { start, end }).pipe(response);
  });
  return new Promise((resolve) => server.listen(port, "127.0.0.1", () => resolve(server)));
}

const of_file = ({ size, time }) => `${time.toString(16)}-${size.toString(16)}`;

async function find(folders, path) {
  for (const folder of folders) {
    const name = join(folder, path);
    const found = await stat(name).catch(() => null);
    if (found?.isFile()) return { name, size: found.size, time: Math.round(found.mtimeMs) };
  }
}

if (process.argv[1] === import.meta.filename) {
  const words = process.argv.slice(2);
  const port = /^\d+$/.test(words.at(-1)) ? Number(words.pop()) : 8000;
  await serve(words, { port });
  console.log(`http://127.0.0.1:${port}/`);
}
