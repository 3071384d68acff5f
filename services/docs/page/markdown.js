// markdown.js - the Markdown that descriptions use: paragraphs, headings, lists, tables, code, emphasis, links. Anything else stays text.
import { html } from "./html.js";

/** Addresses that a link may have. */
const followed = /^(https?:\/\/|mailto:|#|\/(?!\/))/i;

/** Marks inside of a line, the first that fits: code, bold, emphasis, link. */
const marks = [
  [/^`([^`]+)`/, (m) => html`<code>${m[1]}</code>`],
  [/^\*\*([^*]+)\*\*/, (m) => html`<strong>${inline(m[1])}</strong>`],
  [/^\*([^*\s][^*]*)\*/, (m) => html`<em>${inline(m[1])}</em>`],
  [/^\[([^\]]+)\]\(([^()\s]+)\)/, (m) => (followed.test(m[2]) ? html`<a href="${m[2]}">${inline(m[1])}</a>` : html`${m[0]}`)],
];

export function inline(text) {
  const out = [];
  let plain = "";
  for (let i = 0; i < text.length; ) {
    const rest = text.slice(i);
    const found = "`*[".includes(text[i]) && marks.map(([re, make]) => [re.exec(rest), make]).find(([m]) => m);
    if (found) {
      out.push(plain, found[1](found[0]));
      plain = "";
      i += found[0][0].length;
    } else {
      plain += text[i++];
    }
  }
  return html`${out}${plain}`;
}

const cells = (line) => line.trim().replace(/^\||\|$/g, "").split("|").map((cell) => inline(cell.trim()));

function table(lines) {
  const [head, , ...rows] = lines;
  return html`<div class="wide"><table><thead><tr>${cells(head).map((c) => html`<th scope="col">${c}</th>`)}</tr></thead>
    <tbody>${rows.map((row) => html`<tr>${cells(row).map((c) => html`<td>${c}</td>`)}</tr>`)}</tbody></table></div>`;
}

const item = /^\s*(?:[-*]|\d+\.)\s+/;

function list(lines) {
  const items = [];
  for (const line of lines) {
    if (item.test(line)) items.push(line.replace(item, ""));
    else items[items.length - 1] += " " + line.trim();
  }
  const rows = items.map((text) => html`<li>${inline(text)}</li>`);
  return /^\s*\d/.test(lines[0]) ? html`<ol>${rows}</ol>` : html`<ul>${rows}</ul>`;
}

function block(lines) {
  const heading = /^(#{1,6})\s+(.*)/.exec(lines[0]);
  if (heading) return html`<h4>${inline(heading[2])}</h4>${lines.length > 1 && block(lines.slice(1))}`;
  if (item.test(lines[0])) return list(lines);
  if (lines.length > 1 && /^\s*\|?[\s:|-]+$/.test(lines[1]) && lines[1].includes("-") && lines[0].includes("|")) return table(lines);
  const begin = lines.findIndex((line, i) => i && item.test(line));
  if (begin > 0) return html`${block(lines.slice(0, begin))}${list(lines.slice(begin))}`;
  return html`<p>${inline(lines.join(" "))}</p>`;
}

export function markdown(text) {
  const out = [];
  let lines = [], code = null;
  const close = () => {
    if (lines.length) out.push(block(lines));
    lines = [];
  };
  for (const line of String(text ?? "").split(/\r?\n/)) {
    if (/^\s*```/.test(line)) {
      close();
      if (code) out.push(html`<pre><code>${code.join("\n")}</code></pre>`);
      code = code ? null : [];
    } else if (code) {
      code.push(line);
    } else if (line.trim()) {
      lines.push(line);
    } else {
      close();
    }
  }
  close();
  if (code) out.push(html`<pre><code>${code.join("\n")}</code></pre>`);
  return html`${out}`;
}

/** The first sentence of a text, without marks. */
export function first_sentence(text) {
  const line = String(text ?? "").split(/\n\s*\n/)[0].replace(/\s+/g, " ").replace(/[`*]/g, "").trim();
  return /^.*?[.](?=\s|$)/.exec(line)?.[0] ?? line;
}
