// The map: which level is shown, the animation between levels, and when to draw.

const TRANSITION_MS = 900;
const SLOW_MS = 30; // between frames; slower ones show fewer nodes while the map moves
const FAST_MS = 20;
const REST_MS = 200; // after this time without movement all nodes are drawn
const MAX_STEP = 60; // every 60th node; WebGL allows steps of 255 bytes
const MIN_DRAWN = 8000; // nodes
const CAPTION = 22; // pixels above a small map

const ease = (t) => (t < 0.5 ? 4 * t ** 3 : 1 - (2 - 2 * t) ** 3 / 2);

class MapView {
  constructor({ renderer, overlay, source, description }) {
    Object.assign(this, { renderer, overlay, source });
    this.n = description.n;
    this.levelCount = description.levels.length > 1 ? description.levels.length : 0;
    this.camera = new Camera();
    this.loaded = new Map(); // from level to its positions, or to the promise of them
    this.level = 0; // 0 is all levels
    this.progress = 1;
    this.small = false; // whether all levels are shown side by side
    this.marks = { selected: -1, hovered: -1, similar: [], edges: [], lasso: null };
    this.names = () => [];
    this.frames = 0;
    this.previous = -Infinity; // time of the previous frame of a movement
    this.step = 1; // while the map moves, every step-th node is drawn
    renderer.onRestore = () => this.redraw();
    this.reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");
  }

  async positions(level) {
    if (!this.loaded.has(level)) this.loaded.set(level, this.source.array(`positions-${level}`));
    const pending = this.loaded.get(level);
    const found = await pending;
    if (this.loaded.get(level) === pending) this.loaded.set(level, found);
    return found;
  }

  async start() {
    this.begin = this.end = await this.positions(0);
    this.resize();
  }

  get moving() { return this.progress < 1; }

  // Moves the nodes to another level, or to better positions of the current one.
  async showLevel(level) {
    this.wanted = level;
    const target = await this.positions(level);
    if (this.wanted !== level) return; // another level was chosen meanwhile
    this.level = level;
    if (target === this.end) return;
    const leaving = this.moving ? this.interpolated() : this.end;
    this.leave(leaving, target);
  }

  leave(from, target) {
    const jump = this.renderer.still || this.reducedMotion.matches || this.small;
    if (this.begin !== this.end && ![...this.loaded.values()].includes(this.begin)) this.renderer.forget(this.begin);
    this.begin = jump ? target : from;
    this.end = target;
    this.index = null;
    this.progress = jump ? 1 : 0;
    this.started = performance.now();
    this.redraw();
  }

  // Fetches the positions of a level again, which the server has improved.
  async reload(level) {
    const better = await this.source.array(`positions-${level}`);
    const old = this.loaded.get(level);
    this.loaded.set(level, better);
    if (this.level === level) this.leave(this.moving ? this.interpolated() : this.end, better);
    else if (old) this.renderer.forget(old);
    this.redraw();
  }

  interpolated() {
    const share = ease(this.progress);
    return Uint16Array.from(this.begin, (value, i) => value + (this.end[i] - value) * share);
  }

  place(row) {
    const share = ease(this.progress);
    const one = (i) => (this.begin[i] + (this.end[i] - this.begin[i]) * share) / 65535;
    return [one(2 * row), one(2 * row + 1)];
  }

  // The node below a pixel, or -1.
  nodeAt(left, top, reach) {
    if (this.moving || this.small) return -1;
    this.index ??= new PointIndex(this.end);
    return this.index.nearest(...this.camera.toMap(left, top), reach / this.camera.scale);
  }

  setColors(pixels) {
    this.painted = true;
    this.renderer.setColors(pixels);
    this.redraw();
  }

  async showSmall(small) {
    if (small) await Promise.all(Array.from({ length: this.levelCount + 1 }, (_, level) => this.positions(level)));
    this.small = small;
    this.redraw();
  }

  resize() {
    const box = this.overlay.canvas.getBoundingClientRect();
    this.camera.width = Math.max(box.width, 1);
    this.camera.height = Math.max(box.height, 1);
    this.redraw();
  }

  redraw() {
    if (this.painted) this.request ??= requestAnimationFrame((now) => this.draw(now));
  }

  // Draws after a change that others will follow, such as dragging.
  moved() {
    this.lively = true;
    this.redraw();
    clearTimeout(this.rest);
    this.rest = setTimeout(() => this.settle(), REST_MS);
  }

  // Draws all nodes once the map rests; a frame that is still awaited means that drawing is slow, not that it rests.
  settle() {
    if (this.request) {
      this.rest = setTimeout(() => this.settle(), REST_MS);
      return;
    }
    this.lively = false;
    this.redraw();
  }

  // Draws fewer nodes if frames take long. In a page, every step-th node is a fair sample of each part of the map.
  adaptStep(now) {
    const gap = now - this.previous;
    this.previous = now;
    if (gap === Infinity) return; // the first frame of a movement
    this.pace = 0.6 * (this.pace ?? gap) + 0.4 * gap;
    const largest = Math.min(Math.max(Math.floor(this.n / MIN_DRAWN), 1), MAX_STEP);
    if (this.pace > SLOW_MS) this.step = Math.min(Math.ceil((this.step * this.pace) / FAST_MS), largest);
    else if (this.pace < FAST_MS) this.step = Math.max(this.step - 1, 1);
  }

  draw(now) {
    this.request = null;
    const lively = this.lively || this.moving;
    if (lively) this.adaptStep(now);
    else this.previous = -Infinity;
    if (this.moving) this.progress = Math.min((now - this.started) / TRANSITION_MS, 1);
    const ratio = Math.min(devicePixelRatio || 1, 2);
    const panels = this.small ? this.smallPanels() : [this.mainPanel()];
    this.renderer.draw(panels, this.camera.width, this.camera.height, ratio, lively ? this.step : 1);
    this.overlay.draw(this, panels, ratio);
    this.frames++;
    this.firstFrame ??= performance.now();
    if (this.moving) this.redraw();
  }

  mainPanel() {
    return {
      level: this.level, left: 0, top: 0, camera: this.camera, start: this.begin, end: this.end,
      progress: ease(this.progress), diameter: this.diameter(this.camera),
    };
  }

  // Maps of levels 1 … k and of all levels, in a grid that leaves as little space empty as possible.
  smallPanels() {
    const { width, height } = this.camera;
    const levels = [...Array.from({ length: this.levelCount }, (_, i) => i + 1), 0];
    const side = (columns) => Math.min(width / columns, height / Math.ceil(levels.length / columns) - CAPTION);
    const columns = levels.map((_, i) => i + 1).reduce((a, b) => (side(b) > side(a) ? b : a));
    const cell = { width: width / columns, height: height / Math.ceil(levels.length / columns) };
    return levels.map((level, i) => {
      const camera = new Camera();
      camera.width = cell.width - 8;
      camera.height = cell.height - CAPTION - 8;
      const positions = this.loaded.get(level);
      return {
        level, camera, start: positions, end: positions, progress: 1, diameter: this.diameter(camera),
        left: (i % columns) * cell.width + 4, top: Math.floor(i / columns) * cell.height + CAPTION,
      };
    });
  }

  // Diameter of a node in pixels: smaller if there are many, larger when zoomed in.
  diameter(camera) {
    const room = Math.min(camera.width, camera.height) / Math.sqrt(this.n);
    const base = Math.min(Math.max(0.42 * room, 1.5), 9);
    return Math.min(base * camera.zoom ** 0.45, Math.max(base, 14));
  }
}
