// Opens an array by URL and reads parts of it: the other half of src/exports.rs.

// Loads browser.wasm. Each opens one array at a time.
export async function load(url) {
  const { instance } = await WebAssembly.instantiateStreaming(fetch(url));
  return new Ndzarr(instance.exports);
}

class Ndzarr {
  #wasm;
  #call;

  constructor(wasm) {
    this.#wasm = wasm;
  }

  // Opens the array at a path in the store at a URL; returns its format, data_type, shape, chunk_shape, shard_shape and attributes.
  async open(url, path = "") {
    const { href } = new URL(url.replace(/\/*$/, "/"), document.baseURI);
    const about = await this.#begin(this.#wasm.open, JSON.stringify([href, path]));
    return JSON.parse(new TextDecoder().decode(about));
  }

  // Reads a region of the open array, [[start, end], …]. Returns its elements in C order, in a typed array where
  // JavaScript has one, else as bytes.
  async read(region, dataType) {
    const bytes = await this.#begin(this.#wasm.read, JSON.stringify(region));
    return new (typedArrays()[dataType] ?? Uint8Array)(bytes.buffer);
  }

  // A new call gives up the one before, with its requests.
  #begin(begin, text) {
    this.#call?.give_up();
    return new Promise((resolve, reject) => {
      const abort = new AbortController();
      const give_up = () => {
        abort.abort();
        reject(new DOMException("another call began", "AbortError"));
      };
      const call = { resolve, reject, give_up, signal: abort.signal };
      this.#call = call;
      this.#put(new TextEncoder().encode(text));
      this.#step(call, begin);
    });
  }

  // Lets the module go on, then does what it asks for.
  #step(call, go_on) {
    try {
      go_on();
      const done = this.#wasm.is_done();
      if (done === 1) {
        call.resolve(this.#output());
      } else if (done === 2) {
        call.reject(new Error(new TextDecoder().decode(this.#output())));
      }
      while (!done && this.#wasm.next_request()) {
        this.#send(call, JSON.parse(new TextDecoder().decode(this.#output())));
      }
    } catch (error) {
      call.reject(error);
    }
  }

  async #send(call, request) {
    const { status, head, body } = await perform(request, call.signal);
    if (call.signal.aborted) return;
    this.#step(call, () => {
      const text = new TextEncoder().encode(JSON.stringify(head));
      this.#put(text, body);
      this.#wasm.answer(request.id, status, text.length);
    });
  }

  #put(...parts) {
    const length = parts.reduce((sum, part) => sum + part.length, 0);
    // The memory may have moved after any call.
    let at = this.#wasm.input(length);
    for (const part of parts) {
      new Uint8Array(this.#wasm.memory.buffer).set(part, at);
      at += part.length;
    }
  }

  #output() {
    return new Uint8Array(this.#wasm.memory.buffer, this.#wasm.output(), this.#wasm.output_len()).slice();
  }
}

// Makes one request. Everything that the store has to know of the answer is in `head`.
async function perform({ store, key, method = "GET", range, limit = Infinity }, signal) {
  try {
    const url = store + key.split("/").map(encodeURIComponent).join("/");
    const headers = range ? { Range: range } : {};
    // What the browser has kept is used if the server says that it is current.
    const response = await fetch(url, { method, headers, signal, cache: "no-cache" });
    const { status } = response;
    const field = (name) => response.headers.get(name);
    const version = field("etag") ?? field("last-modified");
    // Of "bytes 5-9/10", or of "bytes */10" for a range outside.
    const [, of] = /^bytes .*\/(\d+)$/.exec(field("content-range") ?? "") ?? [];
    // The length of what was sent, which is not that of the value where it was compressed on the way.
    const sent = field("content-encoding") ? null : field("content-length");
    if (status === 200 && (method === "HEAD" || Number(sent) > limit)) {
      await response.body?.cancel();
      return { status, head: { version, size: sent && Number(sent) }, body: new Uint8Array() };
    }
    const body = new Uint8Array(await response.arrayBuffer());
    const size = status === 200 ? body.length : of && Number(of);
    return { status, head: { version, size }, body };
  } catch (error) {
    return { status: 0, head: {}, body: new TextEncoder().encode(String(error)) };
  }
}

const typedArrays = () => ({
  bool: Uint8Array, int2: Int8Array, int4: Int8Array, int8: Int8Array, int16: Int16Array, int32: Int32Array,
  int64: BigInt64Array, uint2: Uint8Array, uint4: Uint8Array, uint8: Uint8Array, uint16: Uint16Array,
  uint32: Uint32Array, uint64: BigUint64Array, float16: globalThis.Float16Array, float32: Float32Array,
  float64: Float64Array,
});
