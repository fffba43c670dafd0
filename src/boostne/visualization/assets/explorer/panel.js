// The panel beside the map. Text from the data, such as ids and labels, is always set as text, never as HTML.

function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

const byId = (id) => document.getElementById(id);
const count = (number, word) => `${number.toLocaleString("en")} ${word}${number === 1 ? "" : "s"}`;

function dot(group) {
  const element = make("span", { className: "dot" });
  element.style.background = group >= 0 && group < SERIES ? `var(--series-${group})` : "var(--other)";
  return element;
}

function bar(share, color = "var(--accent)") {
  const element = make("span", { className: "bar" }, make("span"));
  element.firstChild.style.width = `${Math.max(share * 100, 1)}%`;
  element.firstChild.style.background = color;
  return element;
}

// The legend of groups: a button per group highlights it. Groups beyond the distinct colors follow in a list that scrolls.
function showGroups(coloring, highlighted, choose) {
  const shown = coloring.names.map((name, group) => {
    const button = make("button", { type: "button", title: name }, dot(group), make("span", { className: "label" }, name),
      make("span", { className: "number" }, coloring.sizes[group].toLocaleString("en")));
    button.setAttribute("aria-pressed", String(group === highlighted));
    button.addEventListener("click", () => choose(group === highlighted ? null : group));
    return make("li", {}, button);
  });
  byId("legend").replaceChildren(make("ul", { className: "groups" }, ...shown));
}

function showScale([low, high]) {
  const ends = make("div", { className: "ends" }, make("span", {}, low), make("span", {}, high));
  byId("legend").replaceChildren(make("div", { className: "ramp" }), ends);
}

function chips(labels, row, classes) {
  const list = make("ul", { className: "chips" });
  for (let k = labels.starts[row]; k < labels.starts[row + 1]; k++) {
    list.append(make("li", {}, dot(labels.indices[k]), classes[labels.indices[k]]));
  }
  return list.childElementCount ? list : make("p", { className: "quiet" }, "no label");
}

function componentRows(strongest, columns) {
  const largest = Math.max(...strongest.map(([, value]) => Math.abs(value)), 1e-30);
  return make("ul", { className: "bars" }, ...strongest.map(([column, value]) => make("li", {},
    make("span", { className: "label" }, columns[column]), bar(Math.abs(value) / largest),
    make("span", { className: "number" }, shortNumber(value)))));
}

// The selected node. `facts`: { id, row, labels, classes, degree, edges, strongest, columns, neighbors, ids }
function showNode(facts, actions) {
  const head = make("div", { className: "head" }, make("h2", { title: facts.id }, facts.id));
  const close = make("button", { type: "button", className: "plain" }, "Clear");
  close.addEventListener("click", actions.clear);
  head.append(close);
  const parts = [head];
  if (facts.labels) parts.push(chips(facts.labels, facts.row, facts.classes));
  if (facts.degree !== null) parts.push(make("p", { className: "quiet" }, edgeText(facts)));
  if (facts.strongest) parts.push(make("h3", {}, "Strongest components"), componentRows(facts.strongest, facts.columns));
  if (facts.neighbors) parts.push(make("h3", {}, "Most similar nodes (cosine)"), neighborList(facts, actions));
  else if (facts.strongest) parts.push(make("p", { className: "quiet" }, "Finding the most similar nodes …"));
  byId("node").replaceChildren(...parts);
}

function edgeText({ degree, edges }) {
  const hidden = edges && edges.length < degree ? `, ${edges.length.toLocaleString("en")} of them on the map` : "";
  return `${count(degree, "edge")}${hidden}`;
}

function neighborList(facts, actions) {
  if (!facts.neighbors.length) return make("p", { className: "quiet" }, "There is no other node.");
  return make("ol", { className: "neighbors" }, ...facts.neighbors.map(([row, similarity]) => {
    const group = facts.labels && facts.labels.starts[row] < facts.labels.starts[row + 1] ? facts.labels.indices[facts.labels.starts[row]] : -1;
    const button = make("button", { type: "button", title: facts.ids[row] }, dot(group),
      make("span", { className: "label" }, facts.ids[row]), make("span", { className: "number" }, similarity.toFixed(3)));
    button.dataset.row = row;
    button.addEventListener("click", () => actions.select(row));
    button.addEventListener("pointerenter", () => actions.mark(row));
    button.addEventListener("pointerleave", () => actions.mark(-1));
    return make("li", {}, button);
  }));
}

function showHint(hasVectors) {
  const touch = matchMedia("(pointer: coarse)").matches;
  const shown = hasVectors ? "the nodes most similar to it" : "its label";
  const text = touch
    ? `Tap a node to see ${shown}. Drag to move, pinch to zoom.`
    : `Click a node to see ${shown}. Drag to move, scroll to zoom.`;
  byId("node").replaceChildren(make("p", { className: "quiet" }, text));
}

const MAX_MIX = 12; // labels of a selection that are listed

// The nodes inside the lasso: how many, and their labels beside the share that these have among all nodes.
function showSelection(rows, labels, classes, n, actions) {
  const section = byId("selection");
  section.hidden = rows === null;
  if (rows === null) return;
  const download = make("button", { type: "button", disabled: !rows.length }, "Download ids");
  download.addEventListener("click", actions.download);
  const clear = make("button", { type: "button", className: "plain" }, "Clear");
  clear.addEventListener("click", actions.clear);
  const parts = [make("div", { className: "head" }, make("h2", {}, `${count(rows.length, "node")} selected`), clear)];
  if (labels && rows.length) {
    const mix = labelMix(rows, labels);
    const percent = (share) => `${(100 * share).toFixed(share < 0.1 ? 1 : 0)}%`;
    parts.push(make("ul", { className: "bars" }, ...mix.slice(0, MAX_MIX).map(({ group, count: found }) => make("li", {
      title: `${found.toLocaleString("en")} nodes; ${percent(labels.sizes[group] / n)} of all nodes have this label`,
    }, make("span", { className: "label" }, classes[group]),
    bar(found / rows.length, group < SERIES ? `var(--series-${group})` : "var(--other)"),
    make("span", { className: "number" }, percent(found / rows.length))))));
    if (mix.length > MAX_MIX) parts.push(make("p", { className: "quiet" }, `and ${count(mix.length - MAX_MIX, "less frequent label")}`));
  }
  section.replaceChildren(...parts, download);
}

function showCard(facts, left, top, { width, height } = {}) {
  const card = byId("card");
  card.hidden = facts === null;
  if (facts === null) return;
  const parts = [make("strong", {}, facts.id)];
  if (facts.labels) parts.push(chips(facts.labels, facts.row, facts.classes));
  if (facts.strongest) parts.push(componentRows(facts.strongest, facts.columns));
  card.replaceChildren(...parts);
  const toLeft = left > width / 2;
  card.style.left = toLeft ? "" : `${left + 16}px`;
  card.style.right = toLeft ? `${width - left + 16}px` : "";
  card.style.top = `${Math.max(Math.min(top - 20, height - card.offsetHeight - 8), 8)}px`;
}

function downloadText(name, text) {
  const link = make("a", { download: name, href: URL.createObjectURL(new Blob([text], { type: "text/plain" })) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

// The search box: matches appear below it while typing; arrow keys and Enter choose one.
class SearchBox {
  constructor(findRows, ids, select) {
    Object.assign(this, { findRows, ids, select, input: byId("search"), list: byId("matches") });
    this.input.addEventListener("input", () => this.update());
    this.input.addEventListener("keydown", (event) => this.key(event));
    this.input.addEventListener("blur", () => setTimeout(() => { if (!this.list.contains(document.activeElement)) this.list.hidden = true; }, 150));
  }

  update() {
    const text = this.input.value.trim();
    const rows = text ? this.findRows(text) : [];
    this.list.replaceChildren(...rows.map((row) => {
      const button = make("button", { type: "button" }, this.ids()[row]);
      button.addEventListener("click", () => this.choose(row));
      button.addEventListener("keydown", (event) => this.key(event));
      return make("li", {}, button);
    }));
    if (text && !rows.length) this.list.append(make("li", { className: "quiet" }, "No id contains this text."));
    this.list.hidden = !text;
    this.rows = rows;
  }

  key(event) {
    const buttons = [...this.list.querySelectorAll("button")];
    const place = buttons.indexOf(document.activeElement);
    if (event.key === "Enter" && place < 0 && this.rows?.length) this.choose(this.rows[0]);
    else if (event.key === "ArrowDown") buttons[Math.min(place + 1, buttons.length - 1)]?.focus();
    else if (event.key === "ArrowUp") (buttons[place - 1] ?? this.input).focus();
    else if (event.key === "Escape") this.list.hidden = true;
    else return;
    event.preventDefault();
  }

  choose(row) {
    this.list.hidden = true;
    this.input.value = this.ids()[row];
    this.select(row);
  }
}
