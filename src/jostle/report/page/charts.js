// Charts are drawn by plotly, which is inside the file and starts when the first of them comes into view.
const Charts = {
  waiting: new Map(), drawn: new Map(), starting: null,

  // `describe` gives traces and layout in the colours of the moment.
  chart(title, words, describe, height = 260) {
    const place = make("div", { class: "chart", role: "img", "aria-label": words });
    place.style.height = `${height}px`;
    this.waiting.set(place, describe);
    this.seen.observe(place);
    return make("div", { class: "chart-box" }, title ? make("h3", {}, title) : null, place);
  },

  seen: new IntersectionObserver(entries => {
    for (const entry of entries) if (entry.isIntersecting) Charts.draw(entry.target);
  }, { rootMargin: "300px" }),

  async draw(place) {
    const describe = this.waiting.get(place);
    if (!describe) return;
    this.seen.unobserve(place);
    this.waiting.delete(place);
    await this.start();
    if (!place.isConnected) return;
    this.drawn.set(place, describe);
    this.plot(place, describe);
  },

  plot(place, describe) {
    const { traces, layout } = describe(this.colours());
    const config = { displayModeBar: false, responsive: true, displaylogo: false };
    window.Plotly.react(place, traces, { ...this.common(), ...layout }, config);
  },

  start() {
    this.starting ??= new Promise(done => {
      const script = document.createElement("script");
      script.textContent = byId("plotly-source").textContent;
      document.head.append(script);
      done();
    });
    return this.starting;
  },

  colours() {
    const style = getComputedStyle(document.documentElement);
    const of = name => style.getPropertyValue(`--${name}`).trim();
    return { ink: of("ink"), soft: of("soft"), line: of("line"), accent: of("accent"), wrong: of("wrong"), right: of("right") };
  },

  common() {
    const colours = this.colours();
    return {
      margin: { l: 56, r: 16, t: 8, b: 44 }, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: colours.soft },
      hovermode: "closest", showlegend: false, dragmode: false, autosize: true,
      legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0 },
    };
  },

  axis(title, more = {}) {
    const { line } = this.colours();
    return { title: { text: title, font: { size: 12 } }, gridcolor: line, zerolinecolor: line, linecolor: line, fixedrange: true, automargin: true, ...more };
  },

  redraw() {
    this.forget();
    for (const [place, describe] of this.drawn) this.plot(place, describe);
  },

  // Lets go of charts that are no longer on the page.
  forget() {
    const gone = some => [...some.keys()].filter(place => !place.isConnected);
    for (const place of gone(this.waiting)) {
      this.seen.unobserve(place);
      this.waiting.delete(place);
    }
    for (const place of gone(this.drawn)) {
      window.Plotly.purge(place);
      this.drawn.delete(place);
    }
  },
};

// Plotly reads some markup in its texts: they are strangers' words and stay words.
const plain = text => String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
const shortened = (text, most = 34) => text.length <= most ? text : `${text.slice(0, most / 2)}…${text.slice(-most / 2)}`;
const PALETTE = ["accent", "wrong", "right", "ink", "soft"];

// Curves of one chart over executions.
function curveChart(title, curves, names = curves.map(curve => curve.name), owners = curves.map((_, i) => i), legend = false) {
  const share = curves.every(curve => curve.share);
  const words = `${title} over executions: ` + curves.map((curve, i) => `${names[i]} ends at ${curve.share ? percent(curve.values.at(-1)) : curve.values.at(-1).toLocaleString("en")}`).join(", ");
  return Charts.chart(title, words, colours => ({
    traces: curves.map((curve, i) => ({
      x: curve.executions, y: curve.values, name: plain(names[i]), type: "scatter", mode: "lines",
      line: { color: colours[PALETTE[owners[i] % PALETTE.length]], width: 2, shape: "hv" },
      hovertemplate: `%{x:,} executions<br>%{y${share ? ":.1%" : ":,.5~g"}}<extra></extra>`,
    })),
    layout: {
      xaxis: Charts.axis("executions", { rangemode: "tozero" }),
      yaxis: Charts.axis("", { rangemode: "tozero", tickformat: share ? ".0%" : "" }),
      showlegend: legend,
    },
  }));
}

function yieldChart(title, yields, figure, colour) {
  const some = yields.filter(one => one[figure]).sort((a, b) => b[figure] - a[figure]).slice(0, 24).reverse();
  if (!some.length) return null;
  const words = `${title}: ` + some.toReversed().map(one => `${one.name} ${one[figure]}`).join(", ");
  return Charts.chart(title, words, colours => ({
    traces: [{
      type: "bar", orientation: "h", x: some.map(one => one[figure]), y: some.map((_, i) => i), marker: { color: colours[colour] },
      text: some.map(one => one[figure].toLocaleString("en")), textposition: "auto", hovertext: some.map(one => plain(one.name)), hovertemplate: "%{hovertext}: %{x:,}<extra></extra>",
    }],
    layout: { xaxis: Charts.axis(""), yaxis: Charts.axis("", { tickvals: some.map((_, i) => i), ticktext: some.map(one => plain(shortened(one.name))) }), bargap: 0.35, margin: { l: 120, r: 16, t: 8, b: 30 } },
  }), 80 + 26 * some.length);
}

// Layers from top to bottom in the order they run, on a logarithmic axis; zero stands at its left end, infinity at its right.
function layerChart(title, twin, several) {
  const finite = twin.layers.flatMap(one => [one.on_seeds, one.low, one.middle, one.high]).map(numeric).filter(value => value > 0 && Number.isFinite(value));
  const low = Math.min(...finite, 1) / 10, high = Math.max(...finite, low * 1000) * 10;
  const at = value => Math.min(Math.max(numeric(value) || low, low), high);
  const rows = twin.layers.map((_, i) => i);
  const words = `${title}. ${twin.told}`;
  return Charts.chart(title, words, colours => ({
    traces: [
      ...(several ? [{ type: "scatter", mode: "lines", x: twin.layers.flatMap(one => [at(one.low), at(one.high), null]), y: rows.flatMap(i => [i, i, null]), line: { color: colours.accent, width: 6 }, opacity: 0.25, hoverinfo: "skip", showlegend: false }] : []),
      { type: "scatter", mode: "lines+markers", name: "95 % of the seeds are below", x: twin.layers.map(one => at(one.on_seeds)), y: rows, line: { color: colours.soft, width: 1 }, marker: { size: 7 }, hovertext: twin.layers.map(one => plain(`${one.layer}: ${one.on_seeds}`)), hovertemplate: "%{hovertext}<extra>seeds</extra>" },
      { type: "scatter", mode: "lines+markers", name: several ? "median of findings, 10 to 90 %" : "this input", x: twin.layers.map(one => at(one.middle)), y: rows, line: { color: colours.accent, width: 1.5 }, marker: { size: 9, color: twin.layers.map(one => one.begins ? colours.wrong : colours.accent) }, hovertext: twin.layers.map(one => plain(`${one.layer}: ${one.middle}${one.begins ? several ? `, begins in ${one.begins}` : ", begins here" : ""}`)), hovertemplate: "%{hovertext}<extra></extra>" },
    ],
    layout: {
      showlegend: true,
      xaxis: Charts.axis("difference, in units of the layer's scale", { type: "log", exponentformat: "power", dtick: Math.max(1, Math.ceil(Math.log10(high / low) / 8)) }),
      yaxis: Charts.axis("", { autorange: "reversed", tickvals: rows, ticktext: twin.layers.map(one => plain(shortened(one.layer) + (several && one.begins ? ` (begins in ${one.begins})` : ""))) }),
    },
  }), 130 + 22 * rows.length);
}
