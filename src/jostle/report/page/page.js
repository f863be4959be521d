// The page: everything from the data inside it, and anew when a live campaign has news.
const CARDS = 20;  // at once
const page = { data: null, shown: CARDS, news: "" };

function show(data) {
  page.data = data;
  Sheets.use(data.sheets);
  Filters.offer(data);
  cards();
  section("labels", byId("matrices"), matrices(data, examples));
  const growth = (data.growth || []).filter(curve => curve.values.some(Boolean));
  section("progress", byId("curves"), [...(data.curves || []), ...growth].map(curve => curveChart(curve.name, [curve])));
  const yields = data.yields || [];
  section("mutations", byId("yields"), [yieldChart("findings", yields, "findings", "wrong"), yieldChart("inputs kept", yields, "kept", "accent")].filter(Boolean));
  section("twins", byId("divergences"), (data.twins || []).map(twin => make("div", {}, layerChart(twin.twin, twin, true), make("p", { class: "note" }, twin.told))));
  Charts.forget();
}

function section(id, place, children) {
  fill(place, children);
  byId(id).hidden = !children.length;
  for (const link of all(`nav [data-for="${id}"]`)) link.hidden = !children.length;
}

function cards() {
  const { data } = page, chosen = Filters.chosen();
  const fitting = data.defects.map((defect, i) => [defect, i + 1, Filters.fitting(defect, data, chosen)]).filter(([, , some]) => some.length);
  fill(byId("cards"), fitting.slice(0, page.shown).map(([defect, rank, some]) => card(defect, rank, data, some, examples)));
  const all = data.defects.length;
  byId("count").textContent = !all ? "No defects." : fitting.length === all ? counted(all, "defect") : `${fitting.length.toLocaleString("en")} of ${counted(all, "defect")}`;
  byId("more").hidden = fitting.length <= page.shown;
  byId("more").textContent = `Show more (${(fitting.length - page.shown).toLocaleString("en")} left)`;
  page.order = fitting.map(([defect]) => defect.name);
  Charts.forget();
}

function examples(title, findings, alone = false) {
  byId("examples-heading").textContent = title;
  fill(byId("examples-body"), alone ? facts(findings[0]) : listed(findings, (words, some) => examples(words, some, true)));
  if (!byId("examples").open) byId("examples").showModal();
}

// A link to a defect works whatever is filtered and however far down it is.
function follow() {
  let target = "";
  try { target = decodeURIComponent(location.hash.slice(1)); } catch { return; }
  if (!target.startsWith("defect-")) return;
  const name = target.slice("defect-".length);
  if (!page.data.defects.some(defect => defect.name === name)) return;
  if (!page.order.includes(name)) { Filters.clear(); cards(); }
  const place = page.order.indexOf(name);
  if (place >= page.shown) { page.shown = place + 1; cards(); }
  const element = byId(target);
  element.scrollIntoView();
  element.focus({ preventScroll: true });
}

function headline(data) {
  document.title = `${data.title} · Jostle report`;
  byId("title").textContent = data.title;
  fill(byId("sentences"), (data.sentences || []).map(sentence => make("p", {}, sentence)));
  fill(byId("figures"), (data.figures || []).map(fact => make("div", {}, make("dt", {}, fact.name), make("dd", {}, fact.value))));
  fill(byId("notes"), (data.notes || []).map(note => make("p", { class: "note" }, note)));
}

async function ask({ address, seconds }) {
  const state = byId("live");
  try {
    const answer = await fetch(address, { cache: "no-store" });
    if (!answer.ok) throw new Error(String(answer.status));
    const text = await answer.text();
    if (text !== page.news) {
      const data = JSON.parse(text);
      if (!document.querySelector("#cards details[open]") && !byId("examples").open) {  // else it is shown once they are closed
        show(data);
        page.news = text;
      }
      headline(data);
      state.textContent = data.at_work ? "live" : "finished";
    }
  } catch {
    state.textContent = "no connection";
  }
  setTimeout(ask, seconds * 1000, { address, seconds });
}

function begin(data) {
  for (const button of all("[data-copies]")) button.addEventListener("click", () => copy(byId(button.dataset.copies).textContent, button));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => Charts.redraw());
  if (data.compared) return compare(data);
  const again = () => { page.shown = CARDS; cards(); };
  for (const happened of ["input", "change"]) byId("filters").addEventListener(happened, again);
  byId("filters").addEventListener("reset", () => setTimeout(again));
  byId("filters").addEventListener("submit", event => event.preventDefault());
  byId("more").addEventListener("click", () => { page.shown += CARDS; cards(); });
  byId("examples").addEventListener("click", event => { if (event.target === byId("examples")) byId("examples").close(); });
  addEventListener("hashchange", follow);
  addEventListener("beforeprint", () => { for (const place of Charts.waiting.keys()) Charts.draw(place); });
  show(data);
  follow();
  if (data.live) ask(data.live);
}

function compare(data) {
  const names = data.compared;
  fill(byId("curves"), data.curves.map(({ name, curves, of }) => curveChart(name, curves, of.map(i => names[i]), of, true)));
}

begin(JSON.parse(byId("data").textContent));
document.documentElement.dataset.ready = "yes";
