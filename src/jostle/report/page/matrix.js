// Labels against what was said instead; a cell opens its examples.
const MOST_LABELS = 30;

function matrices(data, open) {
  const kinds = new Map();
  for (const one of data.findings) {
    if (one.label === undefined || one.said === undefined) continue;
    if (!kinds.has(one.kind)) kinds.set(one.kind, []);
    kinds.get(one.kind).push(one);
  }
  return [...kinds].map(([kind, findings]) => matrix(kind, findings, open));
}

function matrix(kind, findings, open) {
  const cells = new Map(), totals = new Map();
  for (const one of findings) {
    const key = JSON.stringify([one.label, one.said]);
    cells.set(key, [...(cells.get(key) || []), one]);
    for (const label of [one.label, one.said]) totals.set(label, (totals.get(label) || 0) + 1);
  }
  const most = [...totals].sort((a, b) => b[1] - a[1]).slice(0, MOST_LABELS).map(([label]) => label);
  const labels = most.sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
  const largest = Math.max(...[...cells.values()].map(some => some.length));
  const twins = kind.startsWith("agree") || kind.startsWith("differ");
  const words = twins ? `${kind}: the model says (rows), the other says (columns)` : `${kind}: right (rows), said (columns)`;
  const cell = (row, column) => {
    const some = cells.get(JSON.stringify([row, column]));
    if (!some) return make("td");
    const button = make("button", {
      type: "button", "aria-label": `${row} taken for ${column}: ${counted(some.length, "finding")}`,
      onclick: () => open(twins ? `${kind}: ${row} and ${column}` : `${row} taken for ${column}`, some),
    }, String(some.length));
    const share = Math.sqrt(some.length / largest);
    button.style.background = `color-mix(in srgb, var(--accent) ${Math.round(12 + 70 * share)}%, var(--card))`;
    button.style.color = share > 0.55 ? "var(--paper)" : "var(--ink)";
    return make("td", {}, button);
  };
  const left = totals.size - labels.length;
  return make("div", {},
    make("p", { class: "hint" }, words),
    make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": words },
      make("table", { class: "matrix" },
        make("thead", {}, make("tr", {}, make("td"), labels.map(label => make("th", { scope: "col", title: label }, shortened(label, 12))))),
        make("tbody", {}, labels.map(row => make("tr", {}, make("th", { scope: "row", title: row }, shortened(row, 24)), labels.map(column => cell(row, column))))))),
    left > 0 ? make("p", { class: "note" }, `${counted(left, "more label")} with fewer findings are left out; the filters have them.`) : null);
}
