// html.js - text into HTML. Whatever is put into html`...` is escaped, unless html`...` made it.

const special = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

export function escape(value) {
  return String(value).replace(/[&<>"']/g, (c) => special[c]);
}

/** HTML that was made by html`...`; nothing else makes it. */
class Markup {
  constructor(text) {
    this.text = text;
  }

  toString() {
    return this.text;
  }
}

function written(value) {
  if (value instanceof Markup) return value.text;
  if (Array.isArray(value)) return value.map(written).join("");
  return value === null || value === undefined || value === false ? "" : escape(value);
}

export function html(parts, ...values) {
  return new Markup(parts.reduce((out, part, i) => out + written(values[i - 1]) + part));
}
