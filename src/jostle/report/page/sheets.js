// Pictures are places in sheets; a sheet is decoded when one of its pictures is first shown.
const Sheets = {
  sheets: [], urls: new Map(), rules: null, generation: 0,

  use(sheets) {
    this.sheets = sheets || [];
    for (const url of this.urls.values()) URL.revokeObjectURL(url);
    this.urls.clear();
    this.generation += 1;
    this.rules?.remove();
    this.rules = document.head.appendChild(document.createElement("style"));
  },

  name(number) {
    const name = `sheet-${this.generation}-${number}`;
    if (!this.urls.has(number)) {
      const [head, content] = this.sheets[number].source.split(",");
      const bytes = Uint8Array.from(atob(content), sign => sign.charCodeAt(0));
      const url = URL.createObjectURL(new Blob([bytes], { type: head.slice(5).split(";")[0] }));
      this.urls.set(number, url);
      this.rules.sheet.insertRule(`.${name} { background-image: url("${url}") }`);
    }
    return name;
  },

  picture([number, x, y, width, height], words, enlarged = true) {
    const sheet = this.sheets[number];
    const sprite = make("span", { class: `sprite ${this.name(number)}${width < 100 ? " pixelated" : ""}` });
    const place = (at, size, whole) => whole === size ? "0%" : `${at / (whole - size) * 100}%`;
    sprite.style.backgroundSize = `${sheet.width / width * 100}% ${sheet.height / height * 100}%`;
    sprite.style.backgroundPosition = `${place(x, width, sheet.width)} ${place(y, height, sheet.height)}`;
    const frame = make("span", { class: "frame", role: "img", "aria-label": words }, sprite);
    frame.style.aspectRatio = `${width} / ${height}`;
    if (!enlarged) frame.style.maxWidth = `${width * 2}px`;
    return frame;
  },
};
