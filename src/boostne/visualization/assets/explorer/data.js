// Where the arrays come from: elements of the page, or the server that sent it.

const ARRAY_TYPES = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, i2: Int16Array, i4: Int32Array };

function bytesFromBase64(text) {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

async function inflate(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// The script runs before the browser has read all arrays, so that the map appears early.
const wholePage = new Promise((resolve) => {
  if (document.readyState !== "loading") resolve();
  else document.addEventListener("DOMContentLoaded", resolve);
});

// The inverse of PackedArray.to_text in packing.py: bytes of equal significance are stored together.
function unpack(bytes, { kind, columns, differences }) {
  const values = new ARRAY_TYPES[kind](bytes.length / Number(kind[1]));
  const count = values.length;
  const zigzag = differences || kind[0] === "i";
  for (let i = 0; i < count; i++) {
    let value = 0;
    for (let start = i, shift = 0; start < bytes.length; start += count, shift += 8) value |= bytes[start] << shift;
    if (zigzag) value = (value >>> 1) ^ -(value & 1);
    values[i] = differences && i >= columns ? values[i - columns] + value : value;
  }
  return values;
}

// The starts of runs of the given lengths, and the end of the last one.
function runStarts(counts) {
  const starts = new Uint32Array(counts.length + 1);
  for (let i = 0; i < counts.length; i++) starts[i + 1] = starts[i] + counts[i];
  return starts;
}

// Edges are stored once, at the earlier of their two nodes. Returns the neighbors of all nodes.
function bothDirections([counts, offsets]) {
  const degrees = Uint32Array.from(counts);
  const eachEdge = (visit) => {
    for (let row = 0, k = 0; row < counts.length; row++) {
      for (const stop = k + counts[row]; k < stop; k++) visit(row, row + offsets[k]);
    }
  };
  eachEdge((row, other) => { if (other !== row) degrees[other]++; });
  const starts = runStarts(degrees);
  const next = starts.slice();
  const targets = new Uint32Array(starts[counts.length]);
  eachEdge((row, other) => {
    targets[next[row]++] = other;
    if (other !== row) targets[next[other]++] = row;
  });
  return { starts, targets };
}

class PageSource {
  constructor(description) {
    this.description = description;
    this.cache = new Map();
  }

  // Each array is unpacked when it is first needed, and its text is removed from the page.
  array(name) {
    if (!this.cache.has(name)) this.cache.set(name, this.read(name));
    return this.cache.get(name);
  }

  async read(name) {
    if (!document.getElementById(`data-${name}`)) await wholePage;
    const holder = document.getElementById(`data-${name}`);
    const bytes = await inflate(bytesFromBase64(holder.textContent));
    holder.remove();
    return name === "ids" ? JSON.parse(new TextDecoder().decode(bytes)) : unpack(bytes, this.description.arrays[name]);
  }

  has(name) { return name in this.description.arrays; }

  async strongest(row) {
    const [columns, values] = await Promise.all([this.array("strongest"), this.array("strongest_values")]);
    const width = this.description.arrays.strongest.columns;
    const unit = this.description.largest / this.description.valueSteps;
    return Array.from({ length: width }, (_, i) => [columns[row * width + i], values[row * width + i] * unit]);
  }

  async neighbors(row) {
    const [offsets, units] = await Promise.all([this.array("neighbors"), this.array("similarities")]);
    const width = this.description.arrays.neighbors.columns;
    const one = (i) => [row + offsets[row * width + i], units[row * width + i] * this.description.similarityUnit];
    return width ? Array.from({ length: width }, (_, i) => one(i)) : [];
  }

  async edges(row) {
    this.adjacency ??= Promise.all([this.array("edge_counts"), this.array("edge_offsets")]).then(bothDirections);
    const { starts, targets } = await this.adjacency;
    return Array.from(targets.subarray(starts[row], starts[row + 1]));
  }

  async refinedLevels() { return null; } // layouts in a page are final
}

class ServerSource {
  constructor(description) {
    this.description = description;
    this.cache = new Map();
  }

  async get(name) {
    const response = await fetch(name, { cache: "no-store" });
    if (!response.ok) throw new Error(`the server answered ${response.status}`);
    return response;
  }

  // Positions change while the server improves them: they are fetched every time.
  array(name) {
    if (name.startsWith("positions-")) return this.read(name, "u2");
    const kind = name.startsWith("component-") ? "u1" : this.description.arrays[name]?.kind;
    if (!this.cache.has(name)) this.cache.set(name, this.read(name, kind));
    return this.cache.get(name);
  }

  async read(name, kind) {
    const response = await this.get(name);
    return name === "ids" ? response.json() : new ARRAY_TYPES[kind](await response.arrayBuffer());
  }

  has(name) { return name in this.description.arrays; }

  async strongest(row) { return (await this.get(`strongest/${row}`)).json(); }

  async neighbors(row) { return (await this.get(`neighbors/${row}`)).json(); }

  async edges(row) { return (await this.get(`edges/${row}`)).json(); }

  async refinedLevels() { return (await this.get("layouts")).json(); }
}
