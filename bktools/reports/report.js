"use strict";
// Sorts, filters and adds up the tables. Without this script they stand as they were written.
(() => {
  const PLACES = 20;
  const FEW = 10;
  const UNORDERED = new Set(["list", "money", "long", "id"]);
  const order = new Intl.Collator(undefined, { numeric: true });
  const tables = new Map();

  const made = (name, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(name), properties);
    element.append(...children);
    return element;
  };

  // Amounts are exact: integers of 10^-20.
  const exact = (text) => {
    const [whole, decimals = ""] = text.replaceAll(",", "").split(".");
    return BigInt(whole + decimals.padEnd(PLACES, "0"));
  };
  const decimalsOf = (text) => (text.split(".")[1] ?? "").length;
  const amount = (units, decimals) => {
    const digits = (units < 0n ? -units : units).toString().padStart(PLACES + 1, "0");
    const whole = digits.slice(0, -PLACES).replace(/\B(?=(\d{3})+$)/g, ",");
    const rest = digits.slice(-PLACES, decimals - PLACES || undefined);
    return (units < 0n ? "-" : "") + whole + (decimals ? "." + rest : "");
  };
  const isNumber = (kind) => kind === "number" || kind === "amount";

  const enhance = (table) => {
    const body = table.tBodies[0];
    const heads = [...table.tHead.rows[0].cells];
    const kinds = heads.map((head) => head.className);
    const titles = heads.map((head) => head.textContent);
    const rows = [...body.rows].map((row) => {
      const texts = [...row.cells].map((cell) => cell.textContent.trim());
      const groups = (row.dataset.groups ?? "").split(" ");
      return { row, texts, groups, all: texts.join("\n").toLowerCase() };
    });
    const amounts = kinds.indexOf("amount");
    const currencies = kinds.indexOf("currency");
    const total = Number(table.dataset.total);
    let group = null;

    heads.forEach((head, place) => {
      if (UNORDERED.has(kinds[place].split(" ")[0])) return;
      const button = made("button", { type: "button", textContent: titles[place] });
      // Buttons are not repeated at the top of a printed page, texts are.
      const printed = made("span", { className: "printed", textContent: titles[place] });
      printed.setAttribute("aria-hidden", "true");
      head.replaceChildren(button, printed);
      button.addEventListener("click", () => {
        const falling = head.getAttribute("aria-sort") === "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", falling ? "descending" : "ascending");
        const compare = (one, other) => {
          const [a, b] = [one.texts[place], other.texts[place]];
          // Rows without a value are last in both directions.
          if (!a || !b) return (a ? 0 : 1) - (b ? 0 : 1);
          let found = 0;
          if (isNumber(kinds[place])) {
            const [x, y] = [exact(a), exact(b)];
            found = x < y ? -1 : x > y ? 1 : 0;
          } else found = order.compare(a, b);
          return falling ? -found : found;
        };
        body.append(...rows.sort(compare).map(({ row }) => row));
        body.closest(".scroll").scrollTop = 0;
      });
    });

    // A table that is seen at once needs no filter.
    if (rows.length <= FEW && document.querySelector(`a[data-table="${table.id}"]`) === null) return;
    const search = made("input", { type: "search", autocomplete: "off", spellcheck: false });
    const controls = made("div", { className: "controls" }, made("label", {}, "Find ", search));
    controls.setAttribute("role", "search");
    controls.setAttribute("aria-label", table.caption.textContent);
    const choices = heads.flatMap((head, place) => {
      if (!("choice" in head.dataset)) return [];
      const values = [...new Set(rows.map(({ texts }) => texts[place]))].sort(order.compare);
      const select = made("select", {}, new Option("all", ""));
      values.forEach((value) => select.append(new Option(value || "none", "=" + value)));
      controls.append(made("label", {}, titles[place] + " ", select));
      return [{ select, place }];
    });
    const clear = made("button", { type: "button", textContent: "Show all rows", hidden: true });
    const status = made("p", { className: "status" });
    status.setAttribute("role", "status");
    controls.append(clear);

    const update = () => {
      const wanted = search.value.trim().toLowerCase();
      const sums = new Map();
      let count = 0;
      for (const { row, texts, groups, all } of rows) {
        const shown =
          all.includes(wanted) &&
          choices.every(({ select, place }) => !select.value || select.value === "=" + texts[place]) &&
          (group === null || groups.includes(group.name));
        row.hidden = !shown;
        if (!shown) continue;
        count += 1;
        if (amounts < 0 || !texts[amounts]) continue;
        const currency = texts[currencies] || "no currency";
        const sum = sums.get(currency) ?? { units: 0n, decimals: 0 };
        sum.units += exact(texts[amounts]);
        sum.decimals = Math.max(sum.decimals, decimalsOf(texts[amounts]));
        sums.set(currency, sum);
      }
      const filtered = count < rows.length || group !== null;
      const parts = [...sums].sort().map(([name, { units, decimals }]) => `${name} ${amount(units, decimals)}`);
      const part = total > rows.length ? ` on this page (of ${total.toLocaleString("en")} in all)` : "";
      const told = `${count.toLocaleString("en")} of ${rows.length.toLocaleString("en")} rows${part}`;
      const of = group === null ? "" : `${group.label}: `;
      status.textContent = of + [told, ...parts].join(" · ");
      status.classList.toggle("filtered", filtered);
      clear.hidden = !filtered;
    };
    const reset = () => {
      search.value = "";
      choices.forEach(({ select }) => (select.value = ""));
      group = null;
    };
    search.addEventListener("input", update);
    choices.forEach(({ select }) => select.addEventListener("change", update));
    clear.addEventListener("click", () => {
      reset();
      update();
      search.focus();
    });
    table.closest(".scroll").before(controls, status);
    update();
    tables.set(table.id, (name, label) => {
      reset();
      group = { name, label };
      update();
    });
  };

  document.querySelectorAll("table.live").forEach(enhance);
  document.documentElement.classList.add("scripted");

  // A link to the rows of a group goes to their table, which shows only these.
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-group]");
    if (link === null) return;
    tables.get(link.dataset.table)?.(link.dataset.group, link.dataset.label);
  });
})();
