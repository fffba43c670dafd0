"use strict";

// Sorts tables, shows the explorer in its frame, and switches between light and dark.
(() => {
  const root = document.documentElement;
  const { compare } = new Intl.Collator("en", { numeric: true });

  const value = (cell) => parseFloat((cell.dataset.value ?? cell.textContent).replaceAll("−", "-"));

  // Rows in order of a column; cells without a number come last in both directions.
  function sorted(rows, column, isText, sign) {
    const key = (row) => (isText ? row.cells[column].textContent : value(row.cells[column]));
    return rows.map((row) => [key(row), row]).sort(([a], [b]) => {
      if (isText) return sign * compare(a, b);
      if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) - Number.isNaN(b);
      return sign * (a - b);
    }).map(([, row]) => row);
  }

  // The first click on a column of numbers shows the largest first, on one of text the first.
  function sortBy(table, head) {
    const isText = head.classList.contains("text");
    const first = isText ? "ascending" : "descending";
    const other = isText ? "descending" : "ascending";
    const order = head.getAttribute("aria-sort") === first ? other : first;
    for (const one of table.tHead.rows[0].cells) one.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", order);
    const body = table.tBodies[0];
    body.append(...sorted([...body.rows], head.cellIndex, isText, order === "ascending" ? 1 : -1));
  }

  function makeSortable(table) {
    if (table.tBodies[0].rows.length < 2) return;
    for (const head of table.tHead.rows[0].cells) {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      button.addEventListener("click", () => sortBy(table, head));
      head.append(button);
    }
  }

  // The explorer is a document of its own inside of the page; its parts replace the marks in its shell.
  function showExplorer(frame, { shell, maps }) {
    const show = (parts) => { frame.srcdoc = shell.replace(/<!--(\w+)-->/g, (mark, name) => parts[name] ?? mark); };
    const follow = () => {
      if (frame.contentDocument) frame.contentDocument.documentElement.dataset.theme = root.dataset.theme;
    };
    frame.addEventListener("load", () => {
      follow();
      fit(frame);
    });
    new MutationObserver(follow).observe(root, { attributeFilter: ["data-theme"] });
    for (const input of document.querySelectorAll('input[name="map-name"]')) {
      input.addEventListener("change", () => show(maps[Number(input.value)]));
    }
    show(maps[0]);
  }

  // On phones the explorer is a page that scrolls; the frame is as high as it, so that only the report scrolls.
  function fit(frame) {
    const { body } = frame.contentDocument;
    const narrow = frame.contentWindow.matchMedia("(max-width: 52rem)");
    const border = frame.offsetHeight - frame.clientHeight;
    const resize = () => { frame.style.height = narrow.matches ? `${Math.ceil(body.getBoundingClientRect().height) + border}px` : ""; };
    new ResizeObserver(resize).observe(body);
    narrow.addEventListener("change", resize);
  }

  document.querySelectorAll("table").forEach(makeSortable);
  document.getElementById("theme").addEventListener("click", () => {
    root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
  });
  const frame = document.getElementById("explorer");
  if (frame) showExplorer(frame, JSON.parse(document.getElementById("explorer-data").textContent));
})();
