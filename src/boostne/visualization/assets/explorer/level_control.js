// Level chooser: a slider from level 1 to k, and "all" at the end.

const PLAY_MS = 1500; // per level

class LevelControl {
  constructor(view) {
    this.view = view;
    this.slider = byId("level");
    const last = view.levelCount + 1;
    byId("levels").hidden = byId("small").hidden = !view.levelCount;
    if (!view.levelCount) return;
    Object.assign(this.slider, { max: last, value: last });
    const names = Array.from({ length: last }, (_, i) => (i + 1 === last ? "all" : String(i + 1)));
    byId("ticks").replaceChildren(...names.map((name) => make("span", {}, name)));
    this.slider.addEventListener("input", () => { this.stop(); this.show(); });
    byId("play").addEventListener("click", () => (this.timer ? this.stop() : this.play()));
    this.show();
  }

  async show() {
    const last = this.view.levelCount + 1;
    const value = Number(this.slider.value);
    const level = value === last ? 0 : value;
    const ends = { 1: "coarsest", [last - 1]: "finest" };
    const name = level === 0 ? "All levels" : `Level ${level}`;
    byId("level-name").replaceChildren(name, make("span", {}, level === 0 ? "together" : ends[level] ?? `of ${last - 1}`));
    this.slider.setAttribute("aria-valuetext", name);
    [...byId("ticks").children].forEach((tick, i) => tick.classList.toggle("current", i + 1 === value));
    await this.view.showLevel(level);
  }

  set(level) {
    this.slider.value = level === 0 ? this.view.levelCount + 1 : level;
    return this.show();
  }

  step(by) {
    this.slider.value = Number(this.slider.value) + by;
    return this.show();
  }

  play() {
    this.slider.value = 1;
    this.show();
    byId("play").classList.add("playing");
    this.timer = setInterval(() => {
      this.step(1);
      if (this.slider.value === this.slider.max) this.stop();
    }, PLAY_MS);
  }

  stop() {
    clearInterval(this.timer);
    this.timer = null;
    byId("play").classList.remove("playing");
  }
}
