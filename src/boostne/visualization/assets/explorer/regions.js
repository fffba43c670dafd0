// Names of regions of the map: the label that is most typical of the nodes there, compared with all nodes.

const CELLS = 32; // per side of the map
const MAX_NAMED_CLASSES = 100; // the most frequent ones
const MAX_REGIONS_PER_CLASS = 2;
const MIN_SHARE_OF_CLASS = 0.2;
const MIN_SHARE_OF_NODES = 0.004;

// Returns [{ name, x, y, weight }], the largest region first.
function nameRegions(positions, labels, classes) {
  const n = positions.length / 2;
  const named = Math.min(classes.length, MAX_NAMED_CLASSES);
  const { counts, totals } = countCells(positions, labels, named);
  const typical = typicalClasses(counts, totals, labels.sizes, named, n);
  const regions = connectedRegions(typical, (cell, group) => counts[cell * named + group]);
  const perClass = new Map();
  return regions
    .sort((a, b) => b.weight - a.weight)
    .filter(({ group, weight }) => {
      const place = (perClass.get(group) ?? 0) + 1;
      perClass.set(group, place);
      const enough = weight >= MIN_SHARE_OF_CLASS * labels.sizes[group] && weight >= MIN_SHARE_OF_NODES * n;
      return place === 1 ? weight >= 3 : place <= MAX_REGIONS_PER_CLASS && enough;
    })
    .map(({ group, x, y, weight }) => ({ name: classes[group], group, x, y, weight }));
}

function countCells(positions, labels, named) {
  const counts = new Float32Array(CELLS * CELLS * named);
  const totals = new Float32Array(CELLS * CELLS);
  for (let i = 0; 2 * i < positions.length; i++) {
    const cell = (positions[2 * i + 1] * CELLS >> 16) * CELLS + (positions[2 * i] * CELLS >> 16);
    totals[cell]++;
    for (let k = labels.starts[i]; k < labels.starts[i + 1]; k++) {
      if (labels.indices[k] < named) counts[cell * named + labels.indices[k]]++;
    }
  }
  return { counts, totals };
}

const neighborCells = (cell, reach = 1) => {
  const [row, column] = [Math.floor(cell / CELLS), cell % CELLS];
  const cells = [];
  for (let r = Math.max(row - reach, 0); r <= Math.min(row + reach, CELLS - 1); r++) {
    for (let c = Math.max(column - reach, 0); c <= Math.min(column + reach, CELLS - 1); c++) cells.push(r * CELLS + c);
  }
  return cells;
};

// The class of each cell with nodes, or -1: the one with the largest n_c · log(share here / share of all nodes).
function typicalClasses(counts, totals, sizes, named, n) {
  return totals.reduce((typical, total, cell) => {
    typical[cell] = -1;
    if (total === 0) return typical;
    const around = neighborCells(cell);
    const nearby = around.reduce((sum, one) => sum + totals[one], 0);
    let best = 0;
    for (let group = 0; group < named; group++) {
      const count = around.reduce((sum, one) => sum + counts[one * named + group], 0);
      const score = count && count * Math.log((count / nearby) / (sizes[group] / n));
      if (score > best) [best, typical[cell]] = [score, group];
    }
    return typical;
  }, new Int32Array(totals.length));
}

// Joins neighboring cells with the same class; a region is named at its cell closest to its center of mass.
function connectedRegions(typical, countOf) {
  const seen = new Uint8Array(typical.length);
  const regions = [];
  for (let first = 0; first < typical.length; first++) {
    if (seen[first] || typical[first] < 0) continue;
    const group = typical[first];
    const cells = [first];
    seen[first] = 1;
    for (let i = 0; i < cells.length; i++) {
      for (const next of neighborCells(cells[i])) {
        if (!seen[next] && typical[next] === group) {
          seen[next] = 1;
          cells.push(next);
        }
      }
    }
    regions.push({ group, ...regionCenter(cells, (cell) => countOf(cell, group)) });
  }
  return regions;
}

function regionCenter(cells, countOf) {
  const middle = (cell) => [(cell % CELLS + 0.5) / CELLS, (Math.floor(cell / CELLS) + 0.5) / CELLS];
  let [weight, x, y] = [0, 0, 0];
  for (const cell of cells) {
    const [count, [left, up]] = [countOf(cell), middle(cell)];
    weight += count;
    x += count * left;
    y += count * up;
  }
  const distance = ([left, up]) => Math.hypot(left - x / weight, up - y / weight);
  const [centerX, centerY] = cells.map(middle).reduce((a, b) => (distance(b) < distance(a) ? b : a));
  return { weight, x: centerX, y: centerY };
}
