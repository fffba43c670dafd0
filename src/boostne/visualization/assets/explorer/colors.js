// Colors of the nodes. All colors are CSS variables, so that they follow the color scheme.

const SERIES = 20; // distinct colors; less frequent labels share the color of "other"
const RAMP = 5; // colors of a scale from low to high

function themeColor(name) {
  const text = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  return [1, 3, 5].map((i) => parseInt(text.slice(i, i + 2), 16));
}

const themeColors = () => ({
  series: Array.from({ length: SERIES }, (_, i) => themeColor(`series-${i}`)),
  ramp: Array.from({ length: RAMP }, (_, i) => themeColor(`ramp-${i}`)),
  other: themeColor("other"),
  faded: themeColor("faded"),
});

// The color of a share from 0 to 1, between the colors of the scale.
function rampColor(ramp, share) {
  const place = Math.min(Math.max(share, 0), 1) * (ramp.length - 1);
  const i = Math.min(Math.floor(place), ramp.length - 2);
  return ramp[i].map((low, channel) => Math.round(low + (ramp[i + 1][channel] - low) * (place - i)));
}

// What nodes are colored by: either groups (label, community) or a scale (degree, component).
class Coloring {
  constructor({ group = null, names = [], sizes = [], share = null, ends = null }) {
    Object.assign(this, { group, names, sizes, share, ends });
  }

  // RGBA of each node. Nodes that `isDimmed` fade; if a group is highlighted, the others have its color.
  paint(n, highlighted, isDimmed) {
    const theme = themeColors();
    const pixels = new Uint8Array(4 * n);
    const table = this.share && Array.from({ length: 256 }, (_, i) => rampColor(theme.ramp, i / 255));
    for (let i = 0; i < n; i++) {
      let color = theme.other;
      let alpha = 205;
      if (table) {
        color = table[Math.round(this.share[i] * 255)];
        alpha = 150 + Math.round(this.share[i] * 90);
      } else if (this.group && this.group[i] >= 0 && this.group[i] < SERIES) {
        color = theme.series[this.group[i]];
      }
      if (isDimmed(i)) [color, alpha] = [theme.faded, 110];
      else if (highlighted !== null) [color, alpha] = [theme.series[highlighted < SERIES ? highlighted : 0], 235];
      [pixels[4 * i], pixels[4 * i + 1], pixels[4 * i + 2], pixels[4 * i + 3]] = [color[0], color[1], color[2], alpha];
    }
    return pixels;
  }
}

function groupColoring(group, names) {
  const sizes = new Uint32Array(names.length);
  for (const one of group) if (one >= 0) sizes[one]++;
  return new Coloring({ group, names, sizes });
}

function degreeColoring(degrees) {
  let largest = 1;
  for (const degree of degrees) largest = Math.max(largest, degree);
  const share = Float32Array.from(degrees, (degree) => Math.log1p(degree) / Math.log1p(largest));
  return new Coloring({ share, ends: ["0 edges", `${largest.toLocaleString("en")} (logarithmic)`] });
}

function componentColoring(values, steps, low, high) {
  return new Coloring({ share: Float32Array.from(values, (value) => value / steps), ends: [shortNumber(low), shortNumber(high)] });
}

const shortNumber = (value) => Number(value.toPrecision(3)).toLocaleString("en", { maximumSignificantDigits: 3 });
