// Everything above the nodes: names of regions, the marked nodes and their lines, the lasso, captions of small maps.

const MAX_NAME = 26; // characters
const MAX_NAMES = 24;

class Overlay {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
  }

  draw(view, panels, ratio) {
    const { canvas, context } = this;
    const { width, height } = view.camera;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    const style = getComputedStyle(document.documentElement);
    this.color = (name) => style.getPropertyValue(`--${name}`).trim();
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    if (view.small) {
      panels.forEach((panel) => this.drawCaption(panel, view));
      return;
    }
    this.drawNames(view);
    this.drawMarks(view);
    this.drawLasso(view);
  }

  drawCaption({ level, left, top, camera }, view) {
    const { context } = this;
    const current = level === view.level;
    context.font = `${current ? 600 : 500} 12px system-ui, sans-serif`;
    context.textAlign = "center";
    context.textBaseline = "alphabetic";
    context.fillStyle = this.color(current ? "accent" : "muted");
    context.fillText(level === 0 ? "all levels" : `level ${level}`, left + camera.width / 2, top - 7);
    context.strokeStyle = this.color(current ? "accent" : "border");
    context.lineWidth = 1;
    context.beginPath();
    context.roundRect(left + 0.5, top + 0.5, camera.width - 1, camera.height - 1, 6);
    context.stroke();
  }

  drawMarks(view) {
    const { selected, hovered, similar, edges } = view.marks;
    if (selected >= 0) {
      this.drawLines(view, selected, edges, this.color("edge"), 1);
      this.drawLines(view, selected, similar, this.color("accent"), 1.5);
    }
    similar.forEach((row) => this.drawRing(view, row, 2, this.color("accent"), 1.5));
    if (selected >= 0) this.drawRing(view, selected, 4, this.color("text"), 2.5);
    if (hovered >= 0) this.drawRing(view, hovered, 3, this.color("text"), 1.5);
  }

  drawLines(view, from, targets, color, width) {
    const { context } = this;
    const [x, y] = view.camera.toScreen(...view.place(from));
    context.beginPath();
    for (const target of targets) {
      context.moveTo(x, y);
      context.lineTo(...view.camera.toScreen(...view.place(target)));
    }
    context.strokeStyle = color;
    context.lineWidth = width;
    context.globalAlpha = targets.length > 200 ? 0.35 : 0.7;
    context.stroke();
    context.globalAlpha = 1;
  }

  drawRing(view, row, gap, color, width) {
    const { context } = this;
    context.beginPath();
    context.arc(...view.camera.toScreen(...view.place(row)), view.diameter(view.camera) / 2 + gap, 0, 2 * Math.PI);
    context.strokeStyle = color;
    context.lineWidth = width;
    context.stroke();
  }

  // Names fade out and in while the nodes move. A name that would overlap a larger one is left out.
  drawNames(view) {
    const share = view.progress;
    const regions = share < 0.5 ? view.names(view.begin) : view.names(view.end);
    const { context } = this;
    context.globalAlpha = Math.abs(1 - 2 * share) ** 0.5;
    context.font = `600 ${view.camera.width < 480 ? 13 : 15}px system-ui, -apple-system, "Segoe UI", sans-serif`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.lineJoin = "round";
    const taken = [];
    for (const { name, x, y } of regions) {
      if (taken.length >= MAX_NAMES) break;
      const text = name.length > MAX_NAME ? `${name.slice(0, MAX_NAME - 1)}…` : name;
      const half = context.measureText(text).width / 2 + 4;
      const [middle, top] = view.camera.toScreen(x, y);
      // Names stay inside the picture as long as their place does.
      if (middle < 0 || top < 0 || middle > view.camera.width || top > view.camera.height) continue;
      const left = Math.min(Math.max(middle, half), view.camera.width - half);
      if (taken.some((other) => Math.abs(other.left - left) < other.half + half && Math.abs(other.top - top) < 20)) continue;
      taken.push({ left, top, half });
      context.strokeStyle = this.color("map");
      context.lineWidth = 5;
      context.strokeText(text, left, top);
      context.fillStyle = this.color("text");
      context.fillText(text, left, top);
    }
    context.globalAlpha = 1;
  }

  drawLasso(view) {
    if (!view.marks.lasso) return;
    const { context } = this;
    context.beginPath();
    view.marks.lasso.forEach(([x, y]) => context.lineTo(...view.camera.toScreen(x, y)));
    context.closePath();
    context.fillStyle = this.color("accent");
    context.globalAlpha = 0.1;
    context.fill();
    context.globalAlpha = 1;
    context.strokeStyle = this.color("accent");
    context.lineWidth = 1.5;
    context.setLineDash([5, 4]);
    context.stroke();
    context.setLineDash([]);
  }
}
