"use strict";
// Sorts, filters and adds up the tables. Without this script they stand as they were written.
(() => {
  const PLACES = 20;
  const FEW = 10;
  const UNORDERED = new Set(["list", "money"]);
  // The words and signs of the report's language.
  const words = JSON.parse(document.body.dataset.words);
  const filled = (text, facts) => text.replace(/{(\w+)}/g, (_, name) => facts[name]);
  const order = new Intl.Collator(undefined, { numeric: true });
  const tables = new Map();

  const made = (name, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(name), properties);
    element.append(...children);
    return element;
  };

  // Amounts are exact: integers of 10^-20.
  const exact = (text) => {
    const plain = text.replaceAll(words.thousands, "").replace(words.point, ".").replace(words.minus, "-").replace(/[^\d.-]/g, "");
    const [whole, decimals = ""] = plain.split(".");
    return BigInt(whole + decimals.padEnd(PLACES, "0"));
  };
  const decimalsOf = (text) => (text.split(words.point)[1] ?? "").length;
  const amount = (units, decimals) => {
    const digits = (units < 0n ? -units : units).toString().padStart(PLACES + 1, "0");
    const whole = digits.slice(0, -PLACES).replace(/\B(?=(\d{3})+$)/g, words.thousands);
    const rest = digits.slice(-PLACES, decimals - PLACES || undefined);
    return (units < 0n ? words.minus : "") + whole + (decimals ? words.point + rest : "");
  };
  const counted = (count) => amount(BigInt(count) * 10n ** BigInt(PLACES), 0);

  const enhance = (table) => {
    const body = table.tBodies[0];
    const heads = [...table.tHead.rows[0].cells];
    const titles = heads.map((head) => head.textContent);
    const column = (kind) => heads.findIndex((head) => head.classList.contains(kind));
    const rows = [...body.rows].map((row, place) => {
      const texts = [...row.cells].map((cell) => cell.textContent.trim());
      const keys = [...row.cells].map((cell, column) => cell.dataset.order ?? texts[column]);
      return { row, texts, keys, place, all: [...texts, row.title].join("\n").replaceAll("\u00a0", " ").toLowerCase() };
    });
    const [amounts, currencies] = [column("amount"), column("currency")];
    const total = Number(table.dataset.total);
    let chosen = null;

    heads.forEach((head, place) => {
      if (UNORDERED.has(head.classList[0])) return;
      const button = made("button", { type: "button", textContent: titles[place] });
      // Buttons are not repeated at the top of a printed page, texts are.
      const printed = made("span", { className: "printed", textContent: titles[place] });
      printed.setAttribute("aria-hidden", "true");
      head.replaceChildren(button, printed);
      const isNumber = head.matches(".number, .amount");
      button.addEventListener("click", () => {
        const falling = head.getAttribute("aria-sort") === "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", falling ? "descending" : "ascending");
        const compare = (left, right) => {
          const [a, b] = [left.keys[place], right.keys[place]];
          // Rows without a value are last in both directions.
          if (!a || !b) return (a ? 0 : 1) - (b ? 0 : 1);
          const difference = isNumber ? Number(exact(a) > exact(b)) - Number(exact(a) < exact(b)) : order.compare(a, b);
          return falling ? -difference : difference;
        };
        body.append(...rows.sort(compare).map(({ row }) => row));
        body.closest(".scroll").scrollTop = 0;
      });
    });

    // A table that is seen at once needs no filter.
    if (rows.length <= FEW) return;
    const search = made("input", { type: "search", autocomplete: "off", spellcheck: false });
    const controls = made("div", { className: "controls" }, made("label", {}, words.find + " ", search));
    controls.setAttribute("role", "search");
    controls.setAttribute("aria-label", table.caption.textContent);
    const choices = heads.flatMap((head, place) => {
      if (!head.classList.contains("choice")) return [];
      const values = [...new Set(rows.map(({ keys }) => keys[place]))].sort(order.compare);
      const select = made("select", {}, new Option(words.all, ""));
      values.forEach((value) => select.append(new Option(value || words.none, "=" + value)));
      controls.append(made("label", {}, titles[place] + " ", select));
      return [{ select, place }];
    });
    const clear = made("button", { type: "button", textContent: words.show_all, hidden: true });
    const status = made("p", { className: "status" });
    status.setAttribute("role", "status");
    controls.append(clear);

    const update = () => {
      const wanted = search.value.trim().toLowerCase();
      const sums = new Map();
      let count = 0;
      for (const { row, texts, keys, place, all } of rows) {
        row.hidden = !(
          all.includes(wanted) &&
          choices.every((choice) => !choice.select.value || choice.select.value === "=" + keys[choice.place]) &&
          (chosen === null || chosen.places.has(place))
        );
        if (row.hidden) continue;
        count += 1;
        if (amounts < 0 || !texts[amounts]) continue;
        const currency = texts[currencies] || words.no_currency;
        const sum = sums.get(currency) ?? { units: 0n, decimals: 0 };
        sum.units += exact(texts[amounts]);
        sum.decimals = Math.max(sum.decimals, decimalsOf(texts[amounts]));
        sums.set(currency, sum);
      }
      const filtered = count < rows.length || chosen !== null;
      const parts = [...sums].sort().map(([name, { units, decimals }]) => `${name} ${amount(units, decimals)}`);
      const part = total > rows.length ? filled(words.of_page, { total: counted(total) }) : "";
      const shown = filled(words.rows, { shown: counted(count), total: counted(rows.length) }) + part;
      status.textContent = (chosen === null ? "" : `${chosen.label}: `) + [shown, ...parts].join(" · ");
      status.classList.toggle("filtered", filtered);
      clear.hidden = !filtered;
    };
    const show = (choice) => {
      search.value = "";
      choices.forEach(({ select }) => (select.value = ""));
      chosen = choice;
      update();
    };
    search.addEventListener("input", update);
    choices.forEach(({ select }) => select.addEventListener("change", update));
    clear.addEventListener("click", () => {
      show(null);
      search.focus();
    });
    table.closest(".scroll").before(controls, status);
    update();
    tables.set(table.id, show);
  };

  // On a narrow screen a row is a list: each cell has its heading beside it.
  document.querySelectorAll("table").forEach((table) => {
    const titles = [...table.tHead.rows[0].cells].map((head) => head.textContent);
    for (const row of table.tBodies[0].rows) {
      [...row.cells].forEach((cell, place) => {
        cell.dataset.title = titles[place];
        cell.classList.toggle("empty", !cell.textContent.trim());
      });
    }
    table.classList.add("stacks");
  });
  document.querySelectorAll("table.live").forEach(enhance);

  // A link to some entries goes to their table, which shows only these.
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-rows]");
    if (link === null) return;
    const places = new Set(link.dataset.rows.split(" ").map(Number));
    tables.get("entries-table")?.({ places, label: link.dataset.label });
  });
})();
