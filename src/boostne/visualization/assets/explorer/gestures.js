// Mouse, touch and keyboard on the map.

const TAP_PIXELS = 6; // a pointer that moves less is a click
const REACH = { mouse: 10, pen: 14, touch: 22 }; // how far from a node a pointer may be, in pixels

class Gestures {
  // `actions`: select(row), hover(row, left, top), lasso(polygon), choosePanel(level), step(by), clear(), focusSearch(), toggleLasso()
  constructor(surface, view, actions) {
    Object.assign(this, { surface, view, actions });
    this.pointers = new Map();
    this.lassoOn = false;
    const listen = (name, handler) => surface.addEventListener(name, (event) => handler.call(this, event));
    listen("pointerdown", this.down);
    listen("pointermove", this.move);
    listen("pointerup", this.up);
    listen("pointercancel", this.cancel);
    listen("pointerleave", () => actions.hover(-1));
    listen("keydown", this.key);
    listen("dblclick", (event) => this.zoom(2, ...this.place(event)));
    surface.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
  }

  place(event) {
    const box = this.surface.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  zoom(factor, left = this.view.camera.width / 2, top = this.view.camera.height / 2) {
    this.view.camera.zoomAt(factor, left, top);
    this.view.moved();
  }

  wheel(event) {
    if (this.view.small || this.leavesWheelToPage(event)) return;
    event.preventDefault();
    const lines = event.deltaMode === 1 ? 16 : 1;
    this.zoom(Math.exp(-event.deltaY * lines * 0.0015), ...this.place(event));
  }

  // Inside of another page, the wheel scrolls that page until the map was clicked.
  leavesWheelToPage(event) {
    const embedded = "embedded" in document.documentElement.dataset;
    return embedded && !event.ctrlKey && document.activeElement !== this.surface;
  }

  down(event) {
    this.surface.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, this.place(event));
    this.travelled = this.pointers.size > 1 ? TAP_PIXELS : 0;
    if (this.lassoOn && this.pointers.size === 1) this.path = [this.place(event)];
    else this.path = null;
  }

  move(event) {
    const to = this.place(event);
    const from = this.pointers.get(event.pointerId);
    if (!from) {
      if (event.pointerType !== "touch") this.hover(to, event.pointerType);
      return;
    }
    this.travelled += Math.hypot(to[0] - from[0], to[1] - from[1]);
    if (this.path) this.extendLasso(to);
    else if (!this.view.small) this.drag(event.pointerId, from, to);
    this.pointers.set(event.pointerId, to);
  }

  // One pointer pans; two also zoom.
  drag(id, from, to) {
    const { camera } = this.view;
    const other = [...this.pointers].find(([key]) => key !== id)?.[1];
    if (this.travelled < TAP_PIXELS) return;
    this.actions.hover(-1);
    if (other) {
      const distance = ([x, y]) => Math.max(Math.hypot(x - other[0], y - other[1]), 1);
      camera.zoomAt(distance(to) / distance(from), (to[0] + other[0]) / 2, (to[1] + other[1]) / 2);
      camera.pan((to[0] - from[0]) / 2, (to[1] - from[1]) / 2);
    } else {
      camera.pan(to[0] - from[0], to[1] - from[1]);
    }
    this.view.moved();
  }

  extendLasso(to) {
    this.path.push(to);
    this.view.marks.lasso = this.path.map(([left, top]) => this.view.camera.toMap(left, top));
    this.view.redraw();
  }

  up(event) {
    const place = this.place(event);
    const single = this.pointers.size === 1;
    this.pointers.delete(event.pointerId);
    if (this.path && this.path.length > 2 && this.travelled >= TAP_PIXELS) {
      this.actions.lasso(this.view.marks.lasso);
    } else if (single && this.travelled < TAP_PIXELS) {
      this.tap(place, event.pointerType);
    }
    this.path = null;
  }

  cancel(event) {
    this.pointers.delete(event.pointerId);
    this.path = null;
  }

  tap([left, top], type) {
    if (this.view.small) {
      const inside = (panel) => left >= panel.left && left <= panel.left + panel.camera.width
        && top >= panel.top - CAPTION && top <= panel.top + panel.camera.height;
      const panel = this.view.smallPanels().find(inside);
      if (panel) this.actions.choosePanel(panel.level);
      return;
    }
    this.actions.select(this.view.nodeAt(left, top, REACH[type] ?? REACH.mouse));
  }

  hover([left, top], type) {
    this.actions.hover(this.view.nodeAt(left, top, REACH[type] ?? REACH.mouse), left, top);
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { camera } = this.view;
    const step = 60;
    const keys = {
      ArrowLeft: () => camera.pan(step, 0),
      ArrowRight: () => camera.pan(-step, 0),
      ArrowUp: () => camera.pan(0, step),
      ArrowDown: () => camera.pan(0, -step),
      "+": () => this.zoom(1.4),
      "=": () => this.zoom(1.4),
      "-": () => this.zoom(1 / 1.4),
      0: () => camera.reset(),
      "[": () => this.actions.step(-1),
      "]": () => this.actions.step(1),
      l: () => this.actions.toggleLasso(),
      Enter: () => this.actions.select(this.view.nodeAt(camera.width / 2, camera.height / 2, camera.width)),
      "/": () => this.actions.focusSearch(),
      Escape: () => this.actions.clear(),
    };
    const name = event.key === "L" ? "l" : event.key;
    if (!(name in keys)) return;
    event.preventDefault();
    keys[name]();
    this.view.redraw();
  }
}
