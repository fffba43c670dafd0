// The part of the map that is visible. Map coordinates run from 0 to 1 in both directions, upwards; pixels downwards.

const FILLED = 0.96; // of the shorter side, by the whole map: nodes at its border are visible as a whole

class Camera {
  constructor() {
    this.width = this.height = 1;
    this.reset();
  }

  reset() {
    this.x = this.y = 0.5; // the map coordinates of the center
    this.zoom = 1;
  }

  // Pixels per unit of the map.
  get scale() { return FILLED * Math.min(this.width, this.height) * this.zoom; }

  toScreen(x, y) {
    return [this.width / 2 + (x - this.x) * this.scale, this.height / 2 - (y - this.y) * this.scale];
  }

  toMap(left, top) {
    return [this.x + (left - this.width / 2) / this.scale, this.y - (top - this.height / 2) / this.scale];
  }

  pan(right, down) {
    this.x = Math.min(Math.max(this.x - right / this.scale, 0), 1);
    this.y = Math.min(Math.max(this.y + down / this.scale, 0), 1);
  }

  // Zooms so that the point below the given pixel stays there.
  zoomAt(factor, left, top) {
    const [x, y] = this.toMap(left, top);
    this.zoom = Math.min(Math.max(this.zoom * factor, 0.6), 400);
    const [newX, newY] = this.toMap(left, top);
    this.x += x - newX;
    this.y += y - newY;
  }

  // Moves the map as little as needed to make a point visible, away from the border.
  reveal(x, y) {
    const margin = 0.06 * Math.min(this.width, this.height);
    const [left, top] = this.toScreen(x, y);
    const right = Math.min(Math.max(left, margin), this.width - margin) - left;
    const down = Math.min(Math.max(top, margin), this.height - margin) - top;
    this.pan(right, down);
  }
}
