// Labels against what was said instead; a cell opens its examples.
const MOST_LABELS = 30;

function matrices(data, open) {
  const kinds = new Map();
  for (const one of data.findings) {
    if (one.label === undefined || one.said === undefined) continue;
    if (!kinds.has(one.kind)) kinds.set(one.kind, []);
    kinds.get(one.kind).push(one);
  }
  return [...kinds].map(([kind, findings]) => matrix(kind, findings, open, data.of_graphs));
}

// The labels that most findings name, in order.
function ordered(labels) {
  const totals = new Map();
  for (const label of labels) totals.set(label, (totals.get(label) || 0) + 1);
  const most = [...totals].sort((a, b) => b[1] - a[1]).slice(0, MOST_LABELS).map(([label]) => label);
  return { shown: most.sort((a, b) => a.localeCompare(b, "en", { numeric: true })), left: totals.size - most.length };
}

function matrix(kind, findings, open, ofGraphs) {
  const cells = new Map();
  for (const one of findings) {
    const key = JSON.stringify([one.label, one.said]);
    if (!cells.has(key)) cells.set(key, []);
    cells.get(key).push(one);
  }
  const both = ordered(findings.flatMap(one => [one.label, one.said]));
  const rows = ofGraphs ? ordered(findings.map(one => one.label)) : both, columns = ofGraphs ? ordered(findings.map(one => one.said)) : both;
  const largest = Math.max(...[...cells.values()].map(some => some.length));
  const twins = kind.startsWith("agree") || kind.startsWith("differ");
  const words = ofGraphs ? `${kind}: operators (rows), frameworks (columns)` : twins ? `${kind}: the model says (rows), the other says (columns)` : `${kind}: right (rows), said (columns)`;
  const pair = (row, column) => ofGraphs ? `${row} of ${column}` : twins ? `${kind}: ${row} and ${column}` : `${row} taken for ${column}`;
  const cell = (row, column) => {
    const some = cells.get(JSON.stringify([row, column]));
    if (!some) return make("td");
    const button = make("button", {
      type: "button", "aria-label": `${pair(row, column)}: ${counted(some.length, "finding")}`,
      onclick: () => open(pair(row, column), some),
    }, String(some.length));
    const share = Math.sqrt(some.length / largest);
    button.style.background = `color-mix(in srgb, var(--accent) ${Math.round(12 + 70 * share)}%, var(--card))`;
    button.style.color = share > 0.55 ? "var(--paper)" : "var(--ink)";
    return make("td", {}, button);
  };
  const left = rows.left + (ofGraphs ? columns.left : 0);
  return make("div", {},
    make("p", { class: "hint" }, words),
    make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": words },
      make("table", { class: "matrix" },
        make("thead", {}, make("tr", {}, make("td"), columns.shown.map(label => make("th", { scope: "col", title: label }, shortened(label, 12))))),
        make("tbody", {}, rows.shown.map(row => make("tr", {}, make("th", { scope: "row", title: row }, shortened(row, 24)), columns.shown.map(column => cell(row, column))))))),
    left > 0 ? make("p", { class: "note" }, `${counted(left, "more label")} with fewer findings are left out; the filters have them.`) : null);
}
