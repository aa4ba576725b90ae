// A grid of rows to sort and search, and to select from. All text of rows is written with textContent, never as markup.
const HELP = {
  number: "number: >100, <=50, 100..200",
  date: "date: 2026-10-05, >=2026-10-15, 2026-10-01..2026-10-15",
  text: "text: any part of it",
};

// Keeps the keys of a notebook, such as A and D D, out of the grid. Notebook 7 reads it of the element with the focus alone.
const OWN_KEYS = "data-lm-suppress-shortcuts";

function element(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  if (name === "input" || name === "button") node.setAttribute(OWN_KEYS, "true");
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value !== null && value !== false) node.setAttribute(key, value);
  }
  node.append(...children);
  return node;
}

// Returns a number that is written with a decimal mark, NaN where it is none.
export function numberOf(text, point) {
  const groups = point === "," ? /[.%\s]/g : /[,%\s]/g;
  return Number(text.replaceAll(groups, "").replace(point, ".").replace("\u2212", "-") || NaN);
}

// Returns a test of a cell's value; null where the filter is empty, undefined where it cannot be read.
export function condition(filter, kind, point = ".") {
  const text = filter.trim().toLowerCase();
  if (!text) return null;
  const value = (part) => (kind === "number" ? numberOf(part, point) : part.trim());
  const isBad = (limit) => (kind === "number" ? Number.isNaN(limit) : !/^\d{4}(-\d{2}(-\d{2})?)?$/.test(limit));
  // Of a month or a year, the last day ends a range.
  const end = (limit) => (kind === "date" ? limit + "-99-99".slice(limit.length - 10) : limit);
  if (kind !== "text") {
    const range = text.split("..");
    const sign = text.match(/^(>=|<=|>|<|=)(.*)$/s);
    if (range.length === 2 || sign) {
      const limits = (sign ? [sign[2]] : range).map(value);
      if (limits.some(isBad)) return undefined;
      const [low, high] = [limits[0], end(limits[limits.length - 1])];
      const found = {
        ">": (cell) => cell > high,
        ">=": (cell) => cell >= low,
        "<": (cell) => cell < low,
        "<=": (cell) => cell <= high,
        "=": (cell) => cell >= low && cell <= high,
        "..": (cell) => cell >= low && cell <= high,
      }[sign ? sign[1] : ".."];
      return (cell) => cell.value !== null && found(cell.value);
    }
  }
  return (cell) => cell.text.toLowerCase().includes(text);
}

function render({ model, el }) {
  const columns = model.get("columns"), rowsOfAPage = model.get("page"), isPicker = model.get("picking");
  const rows = model.get("rows").map((cells, place) => {
    const read = cells.map((text, index) => {
      const { kind, point = "." } = columns[index];
      return { text, value: text === "" ? null : kind === "number" ? numberOf(text, point) : text };
    });
    return { place, cells: read, all: cells.join("\n").toLowerCase() };
  });
  // The lines of a split entry have one number; a row of a table has its own.
  const numbers = model.get("entries");
  const entryOf = (row) => numbers[row.place] ?? row.place;
  const countOf = (lines) => new Set(lines.map(entryOf)).size;
  const noun = !isPicker ? "rows" : countOf(rows) < rows.length ? "lines" : "entries";
  const drawn = columns.map((column, index) => ({ ...column, index })).filter((column) => !column.hidden);
  const filters = drawn.map(() => "");
  let words = "", order = null, page = 0, onlySelected = false, shown = rows, last = null, active = 0;
  let selected = new Set(model.get("selected"));

  const root = element("div", {
    class: `bktools-picker ${isPicker ? "bktools-picking" : ""} ${model.get("key")}`, role: "group", "aria-label": isPicker ? "Entries to pick from" : "Table",
    onkeydown: (event) => event.stopPropagation(),
  });
  const search = element("input", {
    type: "search", placeholder: "Search all columns", "aria-label": "Search all columns",
    oninput: () => { words = search.value.toLowerCase(); filtered(); },
  });
  const all = element("button", { type: "button", onclick: () => put([...selected, ...shown.map((row) => row.place)]) });
  const none = element("button", { type: "button", onclick: () => put([]) }, "Clear selection");
  const reset = element("button", { type: "button", onclick: clearFilters }, "Clear filters");
  const only = element("input", { type: "checkbox", onchange: () => { onlySelected = only.checked; filtered(); } });
  const head = element("thead");
  const body = element("tbody", { onkeydown: keys });
  const table = element("table", {}, element("caption", {}, isPicker ? "Entries: arrow keys move, Space selects, Shift and arrow select a range" : "Rows"), head, body);
  const frame = element("div", { class: "bktools-scroll", tabindex: "-1", [OWN_KEYS]: "true" }, table);
  const pages = element("span", {});
  const back = element("button", { type: "button", onclick: () => turn(-1) }, "Previous");
  const next = element("button", { type: "button", onclick: () => turn(1) }, "Next");
  const totals = element("div", { class: "bktools-totals", role: "status", "aria-live": "polite" });
  if (!isPicker) root.append(totals);
  root.append(
    element("div", { class: "bktools-bar" }, search, ...(isPicker ? [all, none, reset, element("label", {}, only, " selected only")] : [])),
    frame,
    element("div", { class: "bktools-bar" }, back, pages, next),
    ...(isPicker ? [totals] : []),
  );
  el.append(root);

  const sorts = drawn.map((column, place) =>
    element("button", { type: "button", class: "bktools-sort", onclick: () => sort(place) }, column.label));
  const headings = drawn.map((column, place) =>
    element("th", { scope: "col", "aria-sort": "none", class: column.kind }, sorts[place]));
  const fields = drawn.map((column, place) => {
    const field = element("input", {
      "aria-label": `Filter ${column.label}, ${HELP[column.kind]}`, title: HELP[column.kind],
      placeholder: { number: ">100", date: ">=2026-10-15" }[column.kind] ?? "",
      oninput: () => { filters[place] = field.value; filtered(); },
    });
    return field;
  });
  const selects = element("th", { scope: "col" }, element("span", { class: "bktools-only-read" }, "Selected"));
  head.append(element("tr", {}, ...(isPicker ? [selects] : []), ...headings));
  if (isPicker) head.append(element("tr", { class: "bktools-filters" }, element("td"), ...fields.map((field) => element("td", {}, field))));

  function put(places) {
    const chosen = new Set([...places].map((place) => entryOf(rows[place])));
    selected = new Set(rows.filter((row) => chosen.has(entryOf(row))).map((row) => row.place));
    model.set("selected", [...selected]);
    model.save_changes();
    if (onlySelected) filtered(); else draw();
  }

  function clearFilters() {
    filters.fill("");
    for (const field of fields) field.value = "";
    search.value = words = "";
    only.checked = onlySelected = false;
    filtered();
  }

  function filtered() {
    const tests = drawn.map((column, place) => [column.index, condition(filters[place], column.kind, column.point)]);
    tests.forEach(([, test], place) => fields[place].setAttribute("aria-invalid", String(test === undefined)));
    const used = tests.filter(([, test]) => test);
    shown = rows.filter((row) =>
      row.all.includes(words) && (!onlySelected || selected.has(row.place)) && used.every(([index, test]) => test(row.cells[index])));
    if (order) {
      const index = drawn[order.column].index;
      shown.sort((one, other) => {
        const [a, b] = [one.cells[index].value, other.cells[index].value];
        if (a === null || b === null) return (a === null) - (b === null);
        return order.sign * (typeof a === "number" ? a - b : a.localeCompare(b)) || one.place - other.place;
      });
    }
    page = active = 0;
    frame.scrollTop = 0;
    draw();
  }

  function sort(column) {
    order = order?.column === column ? (order.sign === 1 ? { column, sign: -1 } : null) : { column, sign: 1 };
    headings.forEach((heading, place) =>
      heading.setAttribute("aria-sort", order?.column !== place ? "none" : order.sign === 1 ? "ascending" : "descending"));
    filtered();
  }

  function turn(by) {
    page += by;
    active = 0;
    frame.scrollTop = 0;
    draw();
  }

  function draw() {
    const first = page * rowsOfAPage;
    const rowsOfPage = shown.slice(first, first + rowsOfAPage);
    body.replaceChildren(...rowsOfPage.map((row, place) => {
      const box = element("input", { type: "checkbox", tabindex: place === active ? "0" : "-1", "aria-label": `Select ${name(row)}` });
      box.checked = selected.has(row.place);
      const line = isPicker
        ? element("tr", { class: box.checked ? "selected" : "", onclick: (event) => click(event, place) }, element("td", {}, box))
        : element("tr");
      for (const { index, kind } of drawn) line.append(element("td", { class: kind }, ...row.cells[index].text.split("\n").map((text, part) =>
        element(part ? "small" : "span", {}, text))));
      return line;
    }));
    if (!rowsOfPage.length) body.append(element("tr", {}, element("td", { colspan: drawn.length + 1 }, isPicker ? "No entry matches the filters." : "No row has these words.")));
    const count = (number) => number.toLocaleString("en");
    pages.textContent = `${count(Math.min(first + 1, shown.length))} to ${count(Math.min(first + rowsOfAPage, shown.length))} of ${count(shown.length)}` +
      (shown.length < rows.length ? ` that match, of ${count(rows.length)} ${noun}` : ` ${noun}`);
    back.disabled = page === 0;
    next.disabled = first + rowsOfAPage >= shown.length;
    back.hidden = next.hidden = rows.length <= rowsOfAPage;
    all.textContent = shown.length < rows.length ? `Select the ${count(countOf(shown))} that match` : `Select all ${count(countOf(rows))}`;
    tell();
  }

  function tell() {
    const there = new Set(shown.map((row) => row.place));
    const hidden = countOf(rows.filter((row) => selected.has(row.place) && !there.has(row.place)));
    const note = hidden ? `. ${hidden.toLocaleString("en")} selected ${hidden === 1 ? "entry is" : "entries are"} hidden by the filters` : "";
    totals.textContent = model.get("summary") + note;
  }

  function name(row) {
    return drawn.filter((column) => column.naming).map((column) => row.cells[column.index].text).filter(Boolean).join(", ");
  }

  function click(event, place) {
    if (window.getSelection()?.type === "Range" && !event.shiftKey && event.target.tagName !== "INPUT") return;
    choose(place, event.shiftKey);
  }

  function choose(place, isRange) {
    const row = shown[page * rowsOfAPage + place];
    const begin = isRange && last !== null ? shown.findIndex((other) => other.place === last) : -1;
    const chosen = new Set(selected);
    if (begin >= 0) {
      const end = page * rowsOfAPage + place;
      for (const other of shown.slice(Math.min(begin, end), Math.max(begin, end) + 1)) chosen.add(other.place);
    } else if (selected.has(row.place)) rows.filter((other) => entryOf(other) === entryOf(row)).forEach((other) => chosen.delete(other.place));
    else chosen.add(row.place);
    last = row.place;
    active = place;
    window.getSelection()?.removeAllRanges();
    put(chosen);
    focus();
  }

  function focus() {
    const boxes = body.querySelectorAll("input");
    const box = boxes[Math.min(active, boxes.length - 1)];
    boxes.forEach((other) => other.setAttribute("tabindex", other === box ? "0" : "-1"));
    box?.focus({ preventScroll: true });
    // The headings cover the upper edge.
    const line = box?.closest("tr");
    if (!line) return;
    const top = line.offsetTop - head.offsetHeight;
    if (top < frame.scrollTop) frame.scrollTop = top;
    const bottom = line.offsetTop + line.offsetHeight - frame.clientHeight;
    if (bottom > frame.scrollTop) frame.scrollTop = bottom;
  }

  function keys(event) {
    const count = body.querySelectorAll("input").length;
    const to = { ArrowDown: active + 1, ArrowUp: active - 1, Home: 0, End: count - 1, PageDown: active + 10, PageUp: active - 10 }[event.key];
    if (event.key === " ") choose(active, event.shiftKey);
    else if (to !== undefined) {
      const from = active;
      active = Math.max(0, Math.min(count - 1, to));
      if (event.shiftKey && active !== from) {
        last = shown[page * rowsOfAPage + from].place;
        choose(active, true);
      } else focus();
    } else return;
    event.preventDefault();
  }

  model.on("change:selected", () => {
    const given = model.get("selected");
    if (given.length === selected.size && given.every((place) => selected.has(place))) return;
    selected = new Set(given);
    if (onlySelected) filtered(); else draw();
  });
  model.on("change:summary", tell);
  filtered();
}

export default { render };
