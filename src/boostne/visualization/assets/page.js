"use strict";

// Draws the charts and the map from the data in the page, following the reader's light or dark color scheme.
(() => {
  const data = JSON.parse(document.getElementById("report-data").textContent);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const narrow = matchMedia("(max-width: 40rem)");
  const mouse = matchMedia("(pointer: fine)");
  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const series = (i) => color(`series-${i % 10}`);
  // Plotly interprets HTML tags in text; node ids and labels must be escaped.
  const escapeTags = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

  const config = {
    responsive: true,
    displaylogo: false,
    displayModeBar: mouse.matches ? "hover" : false,
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d", "zoomIn2d", "zoomOut2d"],
  };

  function layoutWith(options) {
    return {
      paper_bgcolor: color("background"),
      plot_bgcolor: color("background"),
      font: { family: "system-ui, sans-serif", size: 13, color: color("text") },
      hoverlabel: { bgcolor: color("surface"), bordercolor: color("border"), font: { color: color("text") } },
      // On touch screens dragging scrolls the page instead of zooming.
      dragmode: mouse.matches ? "zoom" : false,
      ...options,
    };
  }

  function axis(title) {
    return {
      title: { text: title, standoff: 8, font: { size: 13 } },
      gridcolor: color("border"),
      linecolor: color("muted"),
      tickcolor: color("muted"),
      zeroline: false,
      automargin: true,
    };
  }

  function trace(line) {
    const lineColor = series(line.style);
    return {
      type: "scatter",
      mode: line.reference ? "lines" : "lines+markers",
      name: escapeTags(line.name),
      x: line.x,
      y: line.y,
      line: { color: lineColor, width: line.reference ? 1.5 : 2, dash: line.reference ? "dash" : "solid" },
      marker: { symbol: line.symbol, size: 8 },
      ...(line.error && { error_y: { type: "data", array: line.error, color: lineColor, thickness: 1.2, width: 3 } }),
    };
  }

  function drawChart(target) {
    const chart = data.charts[target.dataset.chart];
    const xaxis = { ...axis(chart.x_label), tickvals: chart.ticks, ticktext: chart.ticks.map(String) };
    if (chart.log_x) xaxis.type = "log";
    const yaxis = axis(chart.y_label);
    if (chart.from_zero) yaxis.rangemode = "tozero";
    const layout = layoutWith({
      xaxis,
      yaxis,
      margin: { l: 8, r: 12, t: 12, b: 8 },
      legend: { orientation: "h", x: 0, y: -0.2, yanchor: "top", font: { size: 12 } },
      hovermode: "x unified",
    });
    return Plotly.react(target, chart.lines.map(trace), layout, config);
  }

  const fewNodes = 300; // below this, larger dots fit
  const map = document.getElementById("map");
  let highlighted = null; // index of the highlighted class

  const selected = (name) => Number(document.querySelector(`input[name="${name}"]:checked`).value);

  function drawMap() {
    const current = data.maps[selected("map-name")];
    const level = current.levels.find((one) => one.level === selected("map-level")) ?? current.levels[0];
    const styles = current.class_of.map((i) => current.classes[i]);
    const shown = current.class_of.map((i) => highlighted === null || i === highlighted);
    const points = {
      type: "scatter",
      mode: "markers",
      x: level.x,
      y: level.y,
      text: current.nodes.map((node, i) => `${escapeTags(node)}<br>${escapeTags(current.labels[i]) || "no label"}`),
      hovertemplate: "%{text}<extra></extra>",
      marker: {
        size: (current.nodes.length < fewNodes ? 9 : 6) - (narrow.matches ? 1 : 0),
        color: styles.map((style, i) => (style && shown[i] ? series(style.color) : color("faded"))),
        symbol: styles.map((style) => (style ? style.symbol : "circle-open")),
        opacity: shown.map((visible) => (visible ? 0.8 : 0.5)),
      },
    };
    const hiddenAxis = { visible: false, fixedrange: !mouse.matches };
    const layout = layoutWith({
      xaxis: hiddenAxis,
      yaxis: { ...hiddenAxis, scaleanchor: "x" },
      margin: { l: 4, r: 4, t: 4, b: 4 },
      hovermode: "closest",
      showlegend: false,
    });
    const levelName = level.level === 0 ? "all levels" : `level ${level.level} of ${current.levels.at(-1).level}`;
    const labelCount = `${current.classes.length} ${current.classes.length === 1 ? "label" : "labels"}`;
    const status = `${current.name}, ${levelName}: ${current.nodes.length.toLocaleString("en")} nodes, ${labelCount}`;
    document.getElementById("map-status").textContent = status;
    map.setAttribute("aria-label", `map of the nodes: ${status}`);
    return Plotly.react(map, [points], layout, config);
  }

  function updateLegend() {
    const buttons = data.maps[selected("map-name")].classes.map((one, i) => {
      const button = document.createElement("button");
      const sign = document.createElement("span");
      sign.textContent = one.sign;
      sign.style.color = `var(--series-${one.color})`;
      sign.setAttribute("aria-hidden", "true");
      const name = document.createElement("span");
      name.textContent = one.name;
      button.append(sign, name);
      button.type = "button";
      button.setAttribute("aria-pressed", "false");
      button.addEventListener("click", () => {
        highlighted = highlighted === i ? null : i;
        buttons.forEach((other, j) => other.setAttribute("aria-pressed", String(j === highlighted)));
        drawMap();
      });
      return button;
    });
    document.getElementById("map-classes").replaceChildren(...buttons);
  }

  function enableLevels() {
    const levels = data.maps[selected("map-name")].levels.map((one) => one.level);
    const inputs = [...document.querySelectorAll('input[name="map-level"]')];
    for (const input of inputs) input.disabled = !levels.includes(Number(input.value));
    if (!levels.includes(selected("map-level"))) inputs.find((input) => !input.disabled).checked = true;
  }

  function changeMap() {
    highlighted = null;
    enableLevels();
    updateLegend();
    drawMap();
  }

  function drawAll() {
    document.querySelectorAll("[data-chart]").forEach(drawChart);
    if (map) drawMap();
  }

  if (map) {
    for (const input of document.querySelectorAll('input[name="map-name"]')) input.addEventListener("change", changeMap);
    for (const input of document.querySelectorAll('input[name="map-level"]')) input.addEventListener("change", drawMap);
    enableLevels();
    updateLegend();
  }
  drawAll();
  dark.addEventListener("change", drawAll);
})();
