// Which defects are shown: one is, if any of its findings fits all filters.
const Filters = {
  controls: ["filter-kind", "filter-label", "filter-mutation", "filter-confidence", "search"],

  offer(data) {
    const values = (pick) => [...new Set(data.findings.flatMap(pick).filter(Boolean))].sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
    this.options("filter-kind", values(one => [one.kind]));
    this.options("filter-label", values(one => [one.label, one.said]));
    this.options("filter-mutation", values(one => (one.mutation || "").split(" + ")));
    const sure = data.findings.some(one => one.confidence !== undefined);
    byId("filter-confidence").closest("label").hidden = !sure;
  },

  options(id, values) {
    const select = byId(id), chosen = select.value;
    fill(select, make("option", { value: "" }, "all"), values.slice(0, 500).map(value => make("option", { value }, shortened(value, 48))));
    select.value = values.includes(chosen) ? chosen : "";
    select.closest("label").hidden = values.length < 2;
  },

  chosen() {
    const [kind, label, mutation, confidence, search] = this.controls.map(id => byId(id)?.value ?? "");
    return { kind, label, mutation, confidence: Number(confidence) || 0, words: search.toLowerCase().split(/\s+/).filter(Boolean) };
  },

  // Without a word to those who listen for changes.
  clear() { for (const id of this.controls) byId(id).value = id === "filter-confidence" ? "0" : ""; },

  // The findings of a defect that fit, and none if its words do not.
  fitting(defect, data, chosen) {
    const own = [defect.title, defect.name, defect.kind, defect.what, defect.layer, defect.mutation, ...defect.explanation].join(" ").toLowerCase();
    const left = chosen.words.filter(word => !own.includes(word));
    return defect.findings.filter(place => {
      const one = data.findings[place];
      if (chosen.kind && one.kind !== chosen.kind) return false;
      if (chosen.label && one.label !== chosen.label && one.said !== chosen.label) return false;
      if (chosen.mutation && !(one.mutation || "").split(" + ").includes(chosen.mutation)) return false;
      if (chosen.confidence && !(one.confidence >= chosen.confidence)) return false;
      if (!left.length) return true;
      const words = `${one.name} ${one.summary} ${one.seed} ${one.mutation}`.toLowerCase();
      return left.every(word => words.includes(word));
    });
  },
};
