// Draws the nodes with WebGL 2. Coordinates are uploaded as the 16-bit integers they are stored as, once per level; the
// vertex shader moves the nodes between two levels.

const VERTEX_SHADER = `#version 300 es
in vec2 start, end;
in vec4 color;
uniform float progress, diameter;
uniform vec2 scale, offset;
out vec4 tint;
void main() {
  gl_Position = vec4(mix(start, end, progress) * scale + offset, 0.0, 1.0);
  gl_PointSize = diameter;
  tint = vec4(color.rgb * color.a, color.a);
}`;

const FRAGMENT_SHADER = `#version 300 es
precision highp float;
in vec4 tint;
uniform float diameter;
out vec4 pixel;
void main() {
  float inside = 0.5 * diameter * (1.0 - 2.0 * length(gl_PointCoord - 0.5));
  pixel = tint * clamp(inside + 0.5, 0.0, 1.0);
}`;

class WebGLRenderer {
  // Returns null if the browser has no WebGL 2.
  static create(canvas) {
    const gl = canvas.getContext("webgl2", { antialias: false, alpha: true, premultipliedAlpha: true });
    return gl && new WebGLRenderer(canvas, gl);
  }

  constructor(canvas, gl) {
    this.canvas = canvas;
    this.gl = gl;
    this.buffers = new Map(); // from an array of positions to its copy on the GPU
    this.setUp();
    canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
    canvas.addEventListener("webglcontextrestored", () => this.restore());
  }

  // Browsers may take the GPU away, such as from a page in the background, and give it back later.
  restore() {
    this.buffers.clear();
    this.setUp();
    this.setColors(this.pixels);
    this.onRestore();
  }

  setUp() {
    const { gl } = this;
    this.program = gl.createProgram();
    for (const [type, source] of [[gl.VERTEX_SHADER, VERTEX_SHADER], [gl.FRAGMENT_SHADER, FRAGMENT_SHADER]]) {
      const shader = gl.createShader(type);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(this.program, shader);
    }
    gl.linkProgram(this.program);
    if (!gl.getProgramParameter(this.program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(this.program));
    gl.useProgram(this.program);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    this.place = Object.fromEntries(["start", "end", "color"].map((name) => [name, gl.getAttribLocation(this.program, name)]));
    const uniforms = ["progress", "diameter", "scale", "offset"];
    this.uniform = Object.fromEntries(uniforms.map((name) => [name, gl.getUniformLocation(this.program, name)]));
    Object.values(this.place).forEach((place) => gl.enableVertexAttribArray(place));
    this.colors = gl.createBuffer();
  }

  setColors(pixels) {
    const { gl } = this;
    this.pixels = pixels;
    this.count = pixels.length / 4;
    gl.bindBuffer(gl.ARRAY_BUFFER, this.colors);
    gl.bufferData(gl.ARRAY_BUFFER, pixels, gl.DYNAMIC_DRAW);
  }

  bindPositions(name, positions, step) {
    const { gl } = this;
    if (!this.buffers.has(positions)) {
      this.buffers.set(positions, gl.createBuffer());
      gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers.get(positions));
      gl.bufferData(gl.ARRAY_BUFFER, positions, gl.STATIC_DRAW);
    }
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers.get(positions));
    gl.vertexAttribPointer(this.place[name], 2, gl.UNSIGNED_SHORT, true, 4 * step, 0);
  }

  forget(positions) {
    this.gl.deleteBuffer(this.buffers.get(positions));
    this.buffers.delete(positions);
  }

  // Draws every step-th node of the panels, each with its own place on the canvas, in CSS pixels.
  draw(panels, width, height, ratio, step) {
    const { gl, canvas } = this;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    gl.viewport(0, 0, canvas.width, canvas.height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.colors);
    gl.vertexAttribPointer(this.place.color, 4, gl.UNSIGNED_BYTE, true, 4 * step, 0);
    for (const { left, top, camera, start, end, progress, diameter } of panels) {
      gl.viewport(left * ratio, canvas.height - (top + camera.height) * ratio, camera.width * ratio, camera.height * ratio);
      this.bindPositions("start", start, step);
      this.bindPositions("end", end, step);
      const [x, y] = [(2 * camera.scale) / camera.width, (2 * camera.scale) / camera.height];
      gl.uniform2f(this.uniform.scale, x, y);
      gl.uniform2f(this.uniform.offset, -camera.x * x, -camera.y * y);
      gl.uniform1f(this.uniform.progress, progress);
      gl.uniform1f(this.uniform.diameter, diameter * ratio);
      gl.drawArrays(gl.POINTS, 0, Math.ceil(this.count / step));
    }
  }
}
