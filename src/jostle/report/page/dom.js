"use strict";
// Elements are made here alone: texts become text nodes, never markup.
const all = selector => [...document.querySelectorAll(selector)];
const byId = id => document.getElementById(id);

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "class") element.className = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter(child => child !== null && child !== undefined && child !== false));
  return element;
}

function fill(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter(child => child !== null && child !== undefined && child !== false));
  return element;
}

// A part of the page that is made when somebody opens it.
function folded(words, content, open = false) {
  const details = make("details", { open }, make("summary", {}, words));
  let made = false;
  const show = () => {
    if (made || !details.open) return;
    made = true;
    details.append(...[content()].flat(Infinity));
  };
  details.addEventListener("toggle", show);
  show();
  return details;
}

function percent(share) {
  const value = share * 100;
  const digits = value > 99 && value < 99.995 ? 2 : value >= 99.995 || value < 0.05 ? 0 : 1;
  return `${value.toFixed(digits)} %`;
}

const counted = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
const numeric = value => typeof value === "number" ? value : ({ "inf": Infinity, "-inf": -Infinity }[value] ?? NaN);

function copyable(text) {
  const code = make("code", {}, text);
  const button = make("button", { type: "button", class: "copy quiet", onclick: () => copy(text, button) }, "Copy");
  return make("div", { class: "code" }, make("pre", { tabindex: "0" }, code), button);
}

async function copy(text, button) {
  let done = true;
  try {
    await navigator.clipboard.writeText(text);
  } catch {  // pages from a disk may not use the clipboard directly
    const area = make("textarea", { readonly: true, class: "skip" });
    area.value = text;
    document.body.append(area);
    area.select();
    done = document.execCommand("copy");
    area.remove();
    button.focus();
  }
  button.textContent = done ? "Copied" : "Select it and copy";
  setTimeout(() => { button.textContent = "Copy"; }, 2000);
}
