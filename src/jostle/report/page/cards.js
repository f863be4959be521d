// Defects as cards, and findings in few words.
const AT_ONCE = 60;  // thumbnails

function card(defect, rank, data, fitting, open) {
  const id = `defect-${defect.name}`;
  const first = data.findings[defect.findings[0]];
  return make("article", { class: "card", id, tabindex: "-1", "aria-labelledby": `${id}-title` },
    make("div", { class: "card-head" },
      make("h3", { id: `${id}-title` }, make("a", { href: `#${encodeURIComponent(id)}` }, defect.title)),
      make("span", { class: "rank", "aria-label": `rank ${rank}` }, `#${rank}`)),
    tags(defect, fitting),
    defect.explanation.length ? make("p", { class: "told" }, defect.explanation.join(" ")) : null,
    panels(defect, first),
    (defect.changes || []).map(changed),
    defect.sounds ? make("div", { class: "panels sounds" }, defect.sounds.map(sound => make("figure", {}, make("audio", { controls: true, preload: "none", src: sound.source, "aria-label": sound.caption }), make("figcaption", {}, sound.caption)))) : null,
    defect.begins ? beginning(defect.begins) : null,
    defect.numbers ? numbers(defect.numbers) : null,
    more(defect, data, fitting, open));
}

function tags(defect, fitting) {
  const words = [defect.kind, defect.mutation, defect.layer && `${defect.kind === "nan" ? "first seen" : "begins"} in ${defect.layer}`, counted(defect.seeds || 0, "seed"), counted(defect.findings.length, "finding")];
  if (fitting.length < defect.findings.length) words.push(`${fitting.length} fit the filters`);
  const unstable = defect.unstable === undefined ? null : make("li", { class: "warn" }, `unstable: shown in ${percent(defect.unstable)} of runs`);
  return make("ul", { class: "tags", "aria-label": "About this defect" }, words.filter(Boolean).map(word => make("li", {}, word)), unstable);
}

function panels(defect, first) {
  const some = defect.panels || [];
  if (!some.length || !some.some(one => one.picture)) {
    const thumbnail = first?.thumbnail && make("figure", {}, Sheets.picture(first.thumbnail, "mutant", false), make("figcaption", {}, "mutant"));
    const said = some.filter(one => one.said).map(one => make("figure", {}, make("figcaption", {}, one.caption), answers(one.said)));
    return thumbnail || said.length ? make("div", { class: "panels" }, thumbnail || null, said) : null;
  }
  const wide = some.some(one => one.picture && one.picture[3] > 1.5 * one.picture[4]);
  return make("div", { class: wide ? "panels sounds" : "panels" }, some.map(one => make("figure", {},
    one.picture ? Sheets.picture(one.picture, one.caption) : null,
    make("figcaption", {}, one.caption), one.said ? answers(one.said) : null)));
}

function answers(said) {
  return make("ul", { class: "said" }, said.map(one => {
    const bar = make("i");
    bar.style.width = `${Math.min(Math.max(numeric(one.confidence), 0), 1) * 100}%`;
    const state = one.right === undefined ? "" : one.right ? "is-right" : "is-wrong";
    const by = said.length > 1 ? `${one.by}: ` : "";
    return make("li", { class: state },
      make("span", { class: "line" }, make("span", {}, by, make("span", { class: "answer" }, one.label)), make("span", {}, percent(numeric(one.confidence)))),
      make("span", { class: "bar", "aria-hidden": "true" }, bar));
  }));
}

function changed(change) {
  const head = change.name ? make("h4", {}, change.name) : null;
  if (change.edits) {
    return make("div", {}, head, make("p", { class: "edits" }, change.edits.map(edit => edit.before === edit.after ? edit.after ?? "" : edited(edit))));
  }
  return make("div", {}, head, make("div", { class: "scroll" }, values("value", "seed", "mutant", change.values || [])),
    change.left_out ? make("p", { class: "note" }, `${counted(change.left_out, "more value")} changed.`) : null);
}

function edited(edit) {
  const strange = [...new Set([...(edit.after || "")].filter(sign => sign.codePointAt(0) > 126 && !(edit.before || "").includes(sign)))];
  const points = strange.map(sign => ` U+${sign.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`).join("");
  return [edit.before ? make("del", {}, edit.before) : null, edit.after ? make("ins", {}, edit.after) : null, points ? make("span", { class: "code-point" }, points + " ") : null].filter(Boolean);
}
 
function values(name, before, after, rows) {
  return make("table", {},
    make("thead", {}, make("tr", {}, [name, before, after].map(word => make("th", { scope: "col" }, word)))),
    make("tbody", {}, rows.map(row => make("tr", {}, make("th", { scope: "row" }, row.name), make("td", {}, make("del", {}, row.before ?? "")), make("td", {}, make("ins", {}, row.after ?? ""))))));
}

function numbers(rows) {
  return make("div", { class: "scroll told" }, make("table", {},
    make("thead", {}, make("tr", {}, ["tensor", "right", "given"].map(word => make("th", { scope: "col" }, word)))),
    make("tbody", {}, rows.map(row => make("tr", {}, make("th", { scope: "row" }, row.name), make("td", {}, row.before ?? "–"), make("td", { class: "is-wrong" }, make("span", { class: "answer" }, row.after ?? "–")))))));
}

// Layers in the order they run, the one marked in which NaN or infinity is first seen.
function beginning({ told, layers, place }) {
  return make("div", { class: "told" }, make("h4", {}, "Where it is first seen"),
    make("ol", { class: "layers" }, layers.map((layer, i) => make("li", { class: i === place ? "guilty" : null, "aria-current": i === place ? "true" : null }, layer))),
    make("p", { class: "note" }, told));
}

function more(defect, data, fitting, open) {
  const steps = (defect.stages || []).length - 1;
  return [
    defect.script ? folded("Script that shows it", () => [make("p", { class: "note" }, `${defect.script_path} in the campaign's folder. It fails while the defect is there.`), copyable(defect.script)]) : null,
    steps > 0 ? folded(`From the seed to the mutant in ${counted(steps, "step")}`, () => strip(defect.stages)) : null,
    defect.divergence ? folded("Layers in which the twin departs", () => [make("p", { class: "note" }, `${defect.divergence.twin}: ${defect.divergence.told}.`), layerChart("", defect.divergence, false)]) : null,
    defect.traceback ? folded("Traceback", () => make("pre", { tabindex: "0" }, defect.traceback)) : null,
    folded(`All findings (${fitting.length.toLocaleString("en")})`, () => listed(fitting.map(place => data.findings[place]), open)),
    defect.reasons || defect.confirmed ? folded("Why it ranks here", () => reasons(defect)) : null,
  ].filter(Boolean);
}

function strip(stages) {
  return make("ol", { class: stages.some(stage => stage.picture) ? "strip" : "strip words" }, stages.map(stage => make("li", {}, stage.picture ? Sheets.picture(stage.picture, stage.words) : null, stage.words)));
}

function reasons(defect) {
  const rows = Object.entries(defect.reasons || {});
  return [
    make("ul", { class: "said" }, rows.map(([name, value]) => {
      const bar = make("i");
      bar.style.width = `${Math.min(Math.max(numeric(value), 0), 1) * 100}%`;
      return make("li", {}, make("span", { class: "line" }, make("span", {}, name), make("span", {}, percent(numeric(value)))), make("span", { class: "bar", "aria-hidden": "true" }, bar));
    })),
    defect.confirmed ? make("p", { class: "note" }, `It ${defect.confirmed}.`) : "",
  ];
}

// Findings as thumbnails, or as lines where they cannot be seen; some at a time.
function listed(findings, open) {
  const seen = findings.some(one => one.thumbnail);
  const list = make("ul", { class: seen ? "thumbs" : "finding-list" });
  const button = make("button", { type: "button", class: "quiet" });
  const add = () => {
    const next = findings.slice(list.children.length, list.children.length + AT_ONCE);
    list.append(...next.map(one => make("li", {}, seen ? thumbnail(one, open) : line(one))));
    const left = findings.length - list.children.length;
    button.hidden = left === 0;
    button.textContent = `Show more (${left.toLocaleString("en")} left)`;
  };
  button.addEventListener("click", add);
  add();
  return [list, button];
}

function thumbnail(one, open) {
  const words = one.said ? `${one.label} → ${one.said}` : one.name.slice(0, 4);
  return make("button", { type: "button", title: one.summary, onclick: () => open(one.name, [one], true) },
    one.thumbnail ? Sheets.picture(one.thumbnail, one.name) : null, words);
}

function line(one) {
  return [make("strong", {}, one.name), make("br"), one.summary];
}

function facts(one) {
  const rows = [["what", one.summary], ["kind", one.kind], ["seed", one.seed], ["made by", one.mutation], ["confidence", one.confidence === undefined ? "" : percent(one.confidence)], ["folder", `findings/${one.name}`]];
  return make("div", {}, one.thumbnail ? Sheets.picture(one.thumbnail, "mutant", false) : null,
    make("dl", { class: "facts" }, rows.filter(([, value]) => value).map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value)))));
}
