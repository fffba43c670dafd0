// Connects the map, the panel and the data.

class Explorer {
  constructor() {
    this.description = JSON.parse(byId("description").textContent);
    this.source = this.description.served ? new ServerSource(this.description) : new PageSource(this.description);
    const points = byId("points");
    const renderer = WebGLRenderer.create(points) ?? new CanvasRenderer(points);
    this.view = new MapView({
      renderer, overlay: new Overlay(byId("overlay")), source: this.source, description: this.description,
    });
    this.ids = [];
    this.highlighted = null;
    this.inside = null; // rows selected by the lasso
    this.nameCache = new WeakMap();
  }

  async start() {
    const { description, view } = this;
    if (view.renderer.still) this.say("This browser has no WebGL, so the map is a still picture: levels change without animation.");
    this.showSummary();
    await view.start();
    await this.loadLabels();
    this.fillColorChoices();
    await this.colorBy(byId("color-by").value);
    this.connect();
    this.ids = await this.source.array("ids");
    showHint(description.columns.length > 0);
    if (description.served) this.watchLayouts();
    this.ready = true;
  }

  showSummary() {
    const { n, columns, levels } = this.description;
    const parts = [count(n, "node")];
    if (columns.length) parts.push(count(columns.length, "dimension"));
    if (levels.length > 1) parts.push(count(levels.length, "level"));
    byId("summary").textContent = parts.join(" · ");
    byId("notes").hidden = !this.description.notes.length;
    byId("notes").replaceChildren(...this.description.notes.map((note) => make("p", { className: "quiet" }, note)));
  }

  say(text) {
    byId("message").textContent = text;
    byId("message").hidden = !text;
  }

  async loadLabels() {
    if (!this.description.labeled) return;
    const [counts, indices] = await Promise.all([this.source.array("label_counts"), this.source.array("label_indices")]);
    const sizes = new Uint32Array(this.description.classes.length);
    for (const group of indices) sizes[group]++;
    this.labels = { starts: runStarts(counts), indices, sizes };
    this.view.names = (positions) => this.regionNames(positions);
  }

  regionNames(positions) {
    if (!byId("names").checked || !this.labels) return [];
    if (!this.nameCache.has(positions)) {
      this.nameCache.set(positions, nameRegions(positions, this.labels, this.description.classes));
    }
    return this.nameCache.get(positions);
  }

  fillColorChoices() {
    const { description } = this;
    const choices = { label: "Label", community: "Community", degree: "Degree", component: "Component" };
    if (!description.classes.length) delete choices.label;
    if (!description.columns.length) delete choices.component;
    if (!this.source.has("degrees")) {
      delete choices.community;
      delete choices.degree;
    }
    byId("color-by").replaceChildren(...Object.entries(choices).map(([value, text]) => make("option", { value }, text)));
    byId("color-by").parentElement.hidden = Object.keys(choices).length < 2;
    byId("names-field").hidden = !description.classes.length;
    let first = 0;
    const groups = description.levels.map((width, i) => {
      const options = description.columns.slice(first, first + width).map((name, j) => make("option", { value: first + j }, name));
      first += width;
      return description.levels.length > 1 ? make("optgroup", { label: `Level ${i + 1}` }, ...options) : options;
    });
    byId("component").append(...groups.flat());
  }

  async colorBy(kind) {
    const { description } = this;
    byId("component-field").hidden = kind !== "component";
    this.highlighted = null;
    if (kind === "label") {
      const { starts, indices } = this.labels;
      const group = Int32Array.from({ length: description.n }, (_, i) => (starts[i] < starts[i + 1] ? indices[starts[i]] : -1));
      this.coloring = groupColoring(group, description.classes);
      this.coloring.sizes = this.labels.sizes;
    } else if (kind === "community") {
      const communities = Int32Array.from(await this.source.array("communities"));
      this.coloring = groupColoring(communities, Array.from({ length: description.communities }, (_, i) => `Community ${i + 1}`));
    } else if (kind === "degree") {
      this.coloring = degreeColoring(await this.source.array("degrees"));
    } else if (kind === "component") {
      const column = Number(byId("component").value);
      const values = await this.source.array(`component-${column}`);
      this.coloring = componentColoring(values, description.steps, description.low[column], description.high[column]);
    } else {
      this.coloring = new Coloring({});
    }
    this.paint();
  }

  paint() {
    const { coloring, highlighted } = this;
    const byLabel = byId("color-by").value === "label";
    const isMember = (row) => (byLabel ? this.hasLabel(row, highlighted) : coloring.group[row] === highlighted);
    const chosen = this.inside?.length ? new Uint8Array(this.description.n) : null;
    this.inside?.forEach((row) => { chosen[row] = 1; });
    const isDimmed = (row) => (chosen !== null && !chosen[row]) || (highlighted !== null && !isMember(row));
    this.view.setColors(coloring.paint(this.description.n, highlighted, isDimmed));
    if (coloring.share) showScale(coloring.ends);
    else showGroups(coloring, highlighted, (group) => {
      this.highlighted = group;
      this.paint();
      byId("legend").querySelectorAll("button")[group ?? highlighted]?.focus();
    });
  }

  hasLabel(row, group) {
    for (let k = this.labels.starts[row]; k < this.labels.starts[row + 1]; k++) {
      if (this.labels.indices[k] === group) return true;
    }
    return false;
  }

  facts(row) {
    const { labels, description } = this;
    return { id: this.ids[row], ids: this.ids, row, labels, classes: description.classes, columns: description.columns };
  }

  async select(row) {
    const { view, description } = this;
    Object.assign(view.marks, { selected: row, similar: [], edges: [] });
    view.redraw();
    if (row < 0) {
      showHint(description.columns.length > 0);
      return;
    }
    showCard(null);
    view.camera.reveal(...view.place(row));
    this.ids = await this.source.array("ids");
    const degrees = this.source.has("degrees") ? await this.source.array("degrees") : null;
    const facts = { ...this.facts(row), degree: degrees ? degrees[row] : null, edges: null, neighbors: null };
    if (description.columns.length) facts.strongest = await this.source.strongest(row);
    const update = () => { if (view.marks.selected === row) showNode(facts, this); };
    update();
    if (degrees) facts.edges = await this.source.edges(row);
    if (description.columns.length) facts.neighbors = await this.source.neighbors(row);
    if (view.marks.selected !== row) return;
    Object.assign(view.marks, { similar: facts.neighbors?.map(([one]) => one) ?? [], edges: facts.edges ?? [] });
    update();
    view.redraw();
  }

  mark(row) {
    this.view.marks.hovered = row;
    this.view.redraw();
  }

  async hover(row, left, top) {
    if (row === this.view.marks.hovered) return;
    this.mark(row);
    if (row < 0 || !this.ids.length) {
      showCard(null);
      return;
    }
    const facts = this.facts(row);
    showCard(facts, left, top, this.view.camera);
    if (!this.description.columns.length) return;
    facts.strongest = await this.source.strongest(row);
    if (this.view.marks.hovered === row) showCard(facts, left, top, this.view.camera);
  }

  lasso(polygon) {
    this.inside = nodesInside(this.view.end, polygon);
    this.view.marks.lasso = null;
    this.setLasso(false);
    this.paint();
    showSelection(this.inside, this.labels, this.description.classes, this.description.n, {
      download: () => downloadText("ids.txt", this.inside.map((row) => `${this.ids[row]}\n`).join("")),
      clear: () => this.clearSelection(),
    });
  }

  clearSelection() {
    this.inside = null;
    this.view.marks.lasso = null;
    showSelection(null);
    this.paint();
  }

  clear() {
    this.setLasso(false);
    this.clearSelection();
    this.select(-1);
  }

  setLasso(on) {
    this.gestures.lassoOn = on;
    byId("lasso").setAttribute("aria-pressed", String(on));
    byId("overlay").classList.toggle("drawing", on);
  }

  // Layouts that the server has finished replace the first ones.
  async watchLayouts() {
    const layouts = this.view.levelCount + 1;
    const done = new Set();
    while (done.size < layouts) {
      this.say(`Improving the map: ${done.size} of ${count(layouts, "layout")} done`);
      const finished = await this.source.refinedLevels().catch(() => null);
      if (finished === null) {
        this.say("The server has stopped.");
        return;
      }
      for (const level of finished.filter((one) => !done.has(one))) {
        done.add(level);
        if (this.view.loaded.has(level)) await this.view.reload(level);
      }
      if (done.size < layouts) await new Promise((resolve) => { setTimeout(resolve, 1000); });
    }
    this.say("");
  }

  connect() {
    const { view } = this;
    this.control = new LevelControl(view);
    const on = (id, name, handler) => byId(id).addEventListener(name, handler);
    const setSmall = async (small) => {
      byId("small").setAttribute("aria-pressed", String(small));
      await view.showSmall(small);
    };
    this.gestures = new Gestures(byId("overlay"), view, {
      select: (row) => this.select(row),
      hover: (row, left, top) => this.hover(row, left, top),
      lasso: (polygon) => this.lasso(polygon),
      choosePanel: async (level) => { await setSmall(false); this.control.set(level); },
      step: (by) => view.levelCount && this.control.step(by),
      clear: () => this.clear(),
      focusSearch: () => byId("search").focus(),
      toggleLasso: () => this.setLasso(!this.gestures.lassoOn),
    });
    on("color-by", "change", () => this.colorBy(byId("color-by").value));
    on("component", "change", () => this.colorBy("component"));
    on("names", "change", () => view.redraw());
    on("lasso", "click", async () => { await setSmall(false); this.setLasso(!this.gestures.lassoOn); });
    on("small", "click", () => setSmall(!view.small));
    on("zoom-in", "click", () => this.gestures.zoom(1.6));
    on("zoom-out", "click", () => this.gestures.zoom(1 / 1.6));
    on("fit", "click", () => { view.camera.reset(); view.redraw(); });
    on("theme", "click", () => {
      const { dataset } = document.documentElement;
      dataset.theme = dataset.theme === "dark" ? "light" : "dark";
    });
    new MutationObserver(() => this.paint()).observe(document.documentElement, { attributeFilter: ["data-theme"] });
    new ResizeObserver(() => view.resize()).observe(byId("overlay"));
    new SearchBox((text) => searchIds(this.ids, text, 8), () => this.ids, (row) => this.select(row));
  }
}

window.explorer = new Explorer();
window.explorer.start().catch((error) => {
  window.explorer.say(`The map cannot be shown: ${error.message}`);
  throw error;
});
