"use strict";

// Draws the charts and the map from the data in the page, in the colors of the reader's light or dark screen.
(() => {
  const data = JSON.parse(document.getElementById("report-data").textContent);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const narrow = matchMedia("(max-width: 40rem)");
  const mouse = matchMedia("(pointer: fine)");
  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const series = (i) => color(`series-${i % 10}`);
  // Plotly reads tags in texts; names of nodes and labels are no tags.
  const plain = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

  const config = {
    responsive: true,
    displaylogo: false,
    displayModeBar: mouse.matches ? "hover" : false,
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d", "zoomIn2d", "zoomOut2d"],
  };

  function frame(more) {
    return {
      paper_bgcolor: color("ground"),
      plot_bgcolor: color("ground"),
      font: { family: "system-ui, sans-serif", size: 13, color: color("ink") },
      hoverlabel: { bgcolor: color("raised"), bordercolor: color("rule"), font: { color: color("ink") } },
      // A finger on a chart scrolls the page.
      dragmode: mouse.matches ? "zoom" : false,
      ...more,
    };
  }

  function axis(title) {
    return {
      title: { text: title, standoff: 8, font: { size: 13 } },
      gridcolor: color("rule"),
      linecolor: color("soft"),
      tickcolor: color("soft"),
      zeroline: false,
      automargin: true,
    };
  }

  function trace(line) {
    const ink = series(line.look);
    return {
      type: "scatter",
      mode: line.level ? "lines" : "lines+markers",
      name: plain(line.name),
      x: line.x,
      y: line.y,
      line: { color: ink, width: line.level ? 1.5 : 2, dash: line.level ? "dash" : "solid" },
      marker: { symbol: line.symbol, size: 8 },
      ...(line.error && { error_y: { type: "data", array: line.error, color: ink, thickness: 1.2, width: 3 } }),
    };
  }

  function drawChart(place) {
    const chart = data.charts[place.dataset.chart];
    const across = { ...axis(chart.x_label), tickvals: chart.ticks, ticktext: chart.ticks.map(String) };
    if (chart.doubling) across.type = "log";
    const up = axis(chart.y_label);
    if (chart.from_zero) up.rangemode = "tozero";
    const layout = frame({
      xaxis: across,
      yaxis: up,
      margin: { l: 8, r: 12, t: 12, b: 8 },
      legend: { orientation: "h", x: 0, y: -0.2, yanchor: "top", font: { size: 12 } },
      hovermode: "x unified",
    });
    return Plotly.react(place, chart.lines.map(trace), layout, config);
  }

  const few = 300; // nodes that leave room for larger dots
  const map = document.getElementById("map");
  let only = null; // the class that is shown alone, by its number

  const chosen = (name) => Number(document.querySelector(`input[name="${name}"]:checked`).value);

  function drawMap() {
    const found = data.maps[chosen("map-name")];
    const level = found.levels.find((one) => one.level === chosen("map-level")) ?? found.levels[0];
    const looks = found.class_of.map((i) => found.classes[i]);
    const shown = found.class_of.map((i) => only === null || i === only);
    const points = {
      type: "scatter",
      mode: "markers",
      x: level.x,
      y: level.y,
      text: found.nodes.map((node, i) => `${plain(node)}<br>${plain(found.labels[i]) || "no label"}`),
      hovertemplate: "%{text}<extra></extra>",
      marker: {
        size: (found.nodes.length < few ? 9 : 6) - (narrow.matches ? 1 : 0),
        color: looks.map((look, i) => (look && shown[i] ? series(look.color) : color("faint"))),
        symbol: looks.map((look) => (look ? look.symbol : "circle-open")),
        opacity: shown.map((yes) => (yes ? 0.8 : 0.5)),
      },
    };
    const bare = { visible: false, fixedrange: !mouse.matches };
    const layout = frame({
      xaxis: bare,
      yaxis: { ...bare, scaleanchor: "x" },
      margin: { l: 4, r: 4, t: 4, b: 4 },
      hovermode: "closest",
      showlegend: false,
    });
    const which = level.level === 0 ? "all levels joined" : `level ${level.level} of ${found.levels.at(-1).level}`;
    const kinds = `${found.classes.length} ${found.classes.length === 1 ? "label" : "labels"}`;
    const status = `${found.name}, ${which}: ${found.nodes.length.toLocaleString("en")} nodes, ${kinds}`;
    document.getElementById("map-status").textContent = status;
    map.setAttribute("aria-label", `map of the nodes: ${status}`);
    return Plotly.react(map, [points], layout, config);
  }

  function listClasses() {
    const buttons = data.maps[chosen("map-name")].classes.map((one, i) => {
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
        only = only === i ? null : i;
        buttons.forEach((other, j) => other.setAttribute("aria-pressed", String(j === only)));
        drawMap();
      });
      return button;
    });
    document.getElementById("map-classes").replaceChildren(...buttons);
  }

  function offerLevels() {
    const levels = data.maps[chosen("map-name")].levels.map((one) => one.level);
    const inputs = [...document.querySelectorAll('input[name="map-level"]')];
    for (const input of inputs) input.disabled = !levels.includes(Number(input.value));
    if (!levels.includes(chosen("map-level"))) inputs.find((input) => !input.disabled).checked = true;
  }

  function changeMap() {
    only = null;
    offerLevels();
    listClasses();
    drawMap();
  }

  function drawAll() {
    document.querySelectorAll("[data-chart]").forEach(drawChart);
    if (map) drawMap();
  }

  if (map) {
    for (const input of document.querySelectorAll('input[name="map-name"]')) input.addEventListener("change", changeMap);
    for (const input of document.querySelectorAll('input[name="map-level"]')) input.addEventListener("change", drawMap);
    offerLevels();
    listClasses();
  }
  drawAll();
  dark.addEventListener("change", drawAll);
})();
