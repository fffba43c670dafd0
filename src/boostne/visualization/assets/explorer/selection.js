// Finds nodes by their place on the map: the one below the pointer, and those inside a drawn line.

const BUCKETS = 128; // per side of the map

// Nodes sorted by the square of the map they are in.
class PointIndex {
  constructor(positions) {
    this.positions = positions;
    const n = positions.length / 2;
    const counts = new Uint32Array(BUCKETS * BUCKETS);
    const bucket = (i) => (positions[2 * i + 1] * BUCKETS >> 16) * BUCKETS + (positions[2 * i] * BUCKETS >> 16);
    for (let i = 0; i < n; i++) counts[bucket(i)]++;
    this.starts = runStarts(counts);
    this.rows = new Uint32Array(n);
    const next = this.starts.slice();
    for (let i = 0; i < n; i++) this.rows[next[bucket(i)]++] = i;
  }

  // The node closest to a point of the map within a radius, or -1.
  nearest(x, y, radius) {
    const clip = (value) => Math.min(Math.max(Math.floor(value * BUCKETS), 0), BUCKETS - 1);
    let [best, found] = [radius * radius, -1];
    for (let row = clip(y - radius); row <= clip(y + radius); row++) {
      const [from, to] = [row * BUCKETS + clip(x - radius), row * BUCKETS + clip(x + radius)];
      for (let k = this.starts[from]; k < this.starts[to + 1]; k++) {
        const i = this.rows[k];
        const distance = (this.positions[2 * i] / 65535 - x) ** 2 + (this.positions[2 * i + 1] / 65535 - y) ** 2;
        if (distance <= best) [best, found] = [distance, i];
      }
    }
    return found;
  }
}

// The nodes inside a polygon [[x, y], …], by the parity of crossings.
function nodesInside(positions, polygon) {
  const corners = polygon.map(([x, y]) => [x * 65535, y * 65535]);
  const [xs, ys] = [corners.map(([x]) => x), corners.map(([, y]) => y)];
  const [left, right, low, high] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const rows = [];
  for (let i = 0; 2 * i < positions.length; i++) {
    const [x, y] = [positions[2 * i], positions[2 * i + 1]];
    if (x < left || x > right || y < low || y > high) continue;
    let inside = false;
    for (let k = 0, last = corners.length - 1; k < corners.length; last = k++) {
      const [x1, y1] = corners[k];
      const [x2, y2] = corners[last];
      if (y1 > y !== y2 > y && x < ((x2 - x1) * (y - y1)) / (y2 - y1) + x1) inside = !inside;
    }
    if (inside) rows.push(i);
  }
  return rows;
}

// How often each label occurs among the rows, most frequent first: [{ group, count }].
function labelMix(rows, labels) {
  const counts = new Map();
  for (const row of rows) {
    for (let k = labels.starts[row]; k < labels.starts[row + 1]; k++) {
      counts.set(labels.indices[k], (counts.get(labels.indices[k]) ?? 0) + 1);
    }
  }
  return [...counts].map(([group, count]) => ({ group, count })).sort((a, b) => b.count - a.count || a.group - b.group);
}

const MAX_MATCHES = 1000; // of each kind; those are sorted

// Rows whose id contains the text: equal ids first, then those that begin with it.
function searchIds(ids, text, limit) {
  const wanted = text.toLowerCase();
  const found = [[], [], []];
  for (let i = 0; i < ids.length; i++) {
    const id = ids[i].toLowerCase();
    const place = id === wanted ? 0 : id.startsWith(wanted) ? 1 : id.includes(wanted) ? 2 : -1;
    if (place >= 0 && found[place].length < MAX_MATCHES) found[place].push(i);
  }
  const { compare } = new Intl.Collator("en", { numeric: true });
  return found.flatMap((rows) => rows.sort((a, b) => compare(ids[a], ids[b]))).slice(0, limit);
}
