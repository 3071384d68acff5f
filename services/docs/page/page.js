// page.js - the reference in the browser: loads the document, shows what the address names, fills what is opened, searches.
import { keep_key, kept_key, load, load_json } from "./load.js";
import { read_document } from "./model.js";
import { schema_tree } from "./schema.js";
import { search, search_index } from "./search.js";
import * as view from "./view.js";

const language_name = "wharf-language";
const at = (selector, from = document) => from.querySelector(selector);
const all = (selector, from = document) => [...from.querySelectorAll(selector)];
const main = at("main"), side = at("#side"), list = at("#navigation"), found = at("#found"), input = at("#search");

let model, index;
const codes = new Map(); // of /docs/errors.json by code
const show = (element, markup) => { element.innerHTML = String(markup ?? ""); };

// ---- loading ----

function ask_key(refused) {
  at("#key").hidden = false;
  at("#key output").textContent = refused ? "This key is not good for it." : "";
  at("#loading").hidden = true;
  at("#key input").focus();
}

async function begin() {
  const answer = await load("/v1/openapi.json");
  if (answer.status === 401) return ask_key(kept_key() !== null);
  if (!answer.ok) throw new Error(`the server answers ${answer.status}`);
  model = read_document(await answer.json());
  const told = await load_json("/docs/errors.json");
  for (const one of told?.errors ?? []) codes.set(one.code, one);
  at("#key").hidden = true;
  show(list, view.navigation(model));
  input.disabled = false;
  route();
}

function failed(error) {
  at("#loading").hidden = false;
  at("#loading").textContent = `The document can't be shown: ${error.message}.`;
}

// ---- what the address names ----

const name_of = (part) => {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
};

/** The view that an address names: {markup, title, opened}. opened: whether the element of this name is opened in it. Without markup there is none. */
function found_view(kind, name) {
  if (!kind) return { markup: view.overview(model), title: "Reference" };
  if (kind === "events") return { markup: view.events(model), title: "Event types" };
  if (kind === "schemas") return { markup: view.schemas(model), title: "Schemas" };
  if (kind === "schema") return { markup: view.schema(model, name), title: name };
  if (kind === "webhook" && model.events.some((e) => e.type === name)) return { markup: view.events(model), title: name, opened: true };
  const operation = kind === "operation" && model.operations.find((o) => o.id === name);
  const group = model.groups.find((g) => g.name === (operation ? operation.group : kind === "tag" && name));
  return { markup: group && view.group(group), title: operation ? operation.summary : group?.title, opened: Boolean(operation) };
}

function route() {
  const [kind, ...rest] = location.hash.slice(1).split("/");
  const name = name_of(rest.join("/"));
  const { markup, title, opened } = found_view(kind, name);
  show(main, markup ?? view.unknown(name || kind));
  document.title = `${title ?? "Not here"} · ${model.title}`;
  mark_navigation();
  close_menu();
  const wanted = opened && document.getElementById(`${kind}/${encodeURIComponent(name)}`);
  if (wanted) {
    wanted.open = true;
    fill(wanted);
    wanted.scrollIntoView();
    at("summary", wanted).focus({ preventScroll: true });
  } else {
    window.scrollTo(0, 0);
  }
}

function mark_navigation() {
  for (const link of all("a", list)) {
    const here = link.getAttribute("href") === location.hash;
    if (here) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
    if (here) link.closest("details").open = true;
    if (here) link.scrollIntoView({ block: "nearest" });
  }
}

// ---- what is opened is filled ----

function fill(element) {
  if (element.dataset.filled) return;
  element.dataset.filled = "yes";
  const { kind, name, schema } = element.dataset;
  const markup = schema !== undefined ? schema_tree(model.document, { $ref: `#/components/schemas/${schema}` })
    : kind === "webhook" ? view.event(model, model.events.find((e) => e.type === name))
      : view.operation(model, model.operations.find((o) => o.id === name), codes, location.origin);
  element.insertAdjacentHTML("beforeend", String(markup));
  choose_language(localStorage.getItem(language_name) ?? "curl", element);
}

document.addEventListener("toggle", (e) => {
  if (e.target.open && (e.target.dataset.kind || e.target.dataset.schema !== undefined)) fill(e.target);
}, true);

/** Printed is what is open; where nothing is, everything of the view, which is closed again behind it. */
window.addEventListener("beforeprint", () => {
  const closed = at("details.operation[open]", main) ? [] : all("details.operation", main);
  for (const element of closed) {
    fill(element);
    element.dataset.printed = "yes";
    element.open = true;
  }
});
window.addEventListener("afterprint", () => {
  for (const element of all("details[data-printed]", main)) {
    delete element.dataset.printed;
    element.open = false;
  }
});

// ---- samples ----

function choose_language(name, from = document) {
  for (const tab of all("[role=tab]", from)) {
    tab.setAttribute("aria-selected", String(tab.dataset.language === name));
    tab.tabIndex = tab.dataset.language === name ? 0 : -1;
  }
  for (const panel of all("[role=tabpanel]", from)) panel.hidden = panel.dataset.language !== name;
}

document.addEventListener("click", (e) => {
  if (e.target.matches("[role=tab]")) {
    localStorage.setItem(language_name, e.target.dataset.language);
    choose_language(e.target.dataset.language);
  } else if (e.target.matches(".copy")) {
    navigator.clipboard?.writeText(at("code", e.target.parentElement).textContent);
    e.target.textContent = "Copied";
  } else if (e.target.matches("details.operation > summary, details.operation > summary *")) {
    const { kind, name } = e.target.closest("details").dataset;
    history.replaceState(null, "", `#${kind}/${encodeURIComponent(name)}`);
    mark_navigation();
  }
});

document.addEventListener("keydown", (e) => {
  if (!e.target.matches("[role=tab]") || !["ArrowLeft", "ArrowRight"].includes(e.key)) return;
  const tabs = all("[role=tab]", e.target.parentElement);
  const next = tabs[(tabs.indexOf(e.target) + (e.key === "ArrowRight" ? 1 : tabs.length - 1)) % tabs.length];
  next.click();
  next.focus();
});

// ---- search ----

function show_found() {
  index ??= search_index(model, [...codes.values()]);
  const text = input.value.trim();
  found.hidden = !text;
  list.hidden = Boolean(text);
  show(found, text && view.search_results(search(index, text)));
}

function end_search() {
  input.value = "";
  show_found();
}

/** Moves among the input and what it found. */
function step(down) {
  const places = [input, ...all("a", found)];
  const next = places[places.indexOf(document.activeElement) + (down ? 1 : -1)];
  next?.focus();
}

document.addEventListener("keydown", (e) => {
  const typing = e.target.matches("input, textarea, select");
  if (e.key === "/" && !typing && !e.ctrlKey && !e.metaKey && !e.altKey && model) {
    e.preventDefault();
    open_menu();
    input.select();
    input.focus();
  } else if (e.key === "Escape" && side.contains(e.target)) {
    end_search();
    close_menu();
  } else if (["ArrowDown", "ArrowUp"].includes(e.key) && (e.target === input || found.contains(e.target))) {
    e.preventDefault();
    step(e.key === "ArrowDown");
  } else if (e.key === "Enter" && e.target === input) {
    at("a", found)?.click();
  }
});
input.addEventListener("input", show_found);
found.addEventListener("click", (e) => {
  if (e.target.closest("a")?.getAttribute("href") === location.hash) route();
});

// ---- the menu of narrow windows ----

const menu = at("#menu");
const open_menu = () => { side.classList.add("open"); menu.setAttribute("aria-expanded", "true"); };
const close_menu = () => { side.classList.remove("open"); menu.setAttribute("aria-expanded", "false"); };
menu.addEventListener("click", () => (side.classList.contains("open") ? close_menu() : open_menu()));

// ---- the key, where the server asks for one ----

at("#key").addEventListener("submit", (e) => {
  e.preventDefault();
  keep_key(at("#key input").value.trim());
  begin().catch(failed);
});
window.addEventListener("hashchange", () => model && route());
begin().catch(failed);
