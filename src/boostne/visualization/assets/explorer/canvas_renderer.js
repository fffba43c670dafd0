// Draws the nodes without WebGL, as a still picture: slower, and without animation.

const MAX_DISKS = 20000; // nodes; more are squares, which are drawn faster

class CanvasRenderer {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.still = true;
  }

  setColors(pixels) { this.pixels = pixels; }

  forget() {}

  draw(panels, width, height, ratio) {
    const { canvas, context, pixels } = this;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    context.scale(ratio, ratio);
    for (const { left, top, camera, end, diameter } of panels) {
      context.save();
      context.beginPath();
      context.rect(left, top, camera.width, camera.height);
      context.clip();
      for (let i = 0; 2 * i < end.length; i++) {
        const [x, y] = camera.toScreen(end[2 * i] / 65535, end[2 * i + 1] / 65535);
        const [red, green, blue, alpha] = pixels.subarray(4 * i, 4 * i + 4);
        context.fillStyle = `rgb(${red} ${green} ${blue} / ${alpha / 255})`;
        this.drawNode(left + x, top + y, diameter / 2, 2 * MAX_DISKS >= end.length);
      }
      context.restore();
    }
  }

  drawNode(x, y, radius, isDisk) {
    const { context } = this;
    if (isDisk) {
      context.beginPath();
      context.arc(x, y, radius, 0, 2 * Math.PI);
      context.fill();
    } else {
      context.fillRect(x - radius, y - radius, 2 * radius, 2 * radius);
    }
  }
}
