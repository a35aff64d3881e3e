// Tables of figures: a heading that sorts, the best of each column marked.
import { meta } from "./data";
import { h, showAll } from "./dom";

export interface Column {
  value: (name: string) => number | null;
  higher: boolean;
}

export function sortableTable(
  id: string,
  names: string[],
  titles: string[],
  cells: (name: string) => string[],
  columns: Column[],
): HTMLElement {
  const few = names.filter((name) => !name.includes("@") || name.endsWith(`@${meta.k[0]}`));
  let everything = names.length - few.length < 6;
  let sorted = -1;
  let direction = 1;
  const usable = (v: number | null): v is number => v !== null && !Number.isNaN(v);
  const best = columns.map((column) => {
    const values = names.map(column.value).filter(usable);
    const top = column.higher ? Math.max(...values) : Math.min(...values);
    // No mark where most rows share the best value.
    return values.length && values.filter((v) => v === top).length <= names.length / 2 ? top : null;
  });
  const body = h("tbody");
  const heads = titles.map((title, i) =>
    h("th", { scope: "col" }, h("button", { type: "button", onclick: () => sort(i) }, title)),
  );
  const draw = (): void => {
    const order = everything ? [...names] : [...few];
    if (sorted === 0) order.sort((a, b) => direction * a.localeCompare(b));
    if (sorted > 0) {
      const { value } = columns[sorted - 1];
      order.sort((a, b) => direction * ((value(a) ?? NaN) - (value(b) ?? NaN)) || 0);
    }
    body.replaceChildren(
      ...order.map((name) =>
        h(
          "tr",
          {},
          ...cells(name).map((text, i) =>
            i === 0
              ? h("th", { scope: "row" }, text)
              : h(
                  "td",
                  {
                    class:
                      columns[i - 1].value(name) !== null && columns[i - 1].value(name) === best[i - 1] ? "best" : null,
                  },
                  text,
                ),
          ),
        ),
      ),
    );
    heads.forEach((head, i) => {
      if (i === sorted) head.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
      else head.removeAttribute("aria-sort");
    });
  };
  const sort = (i: number): void => {
    if (sorted === i) direction = -direction;
    else direction = i > 0 && columns[i - 1].higher ? -1 : 1;
    sorted = i;
    draw();
  };
  draw();
  const more = showAll(`Show all ${names.length} measures and gate settings`, () => {
    everything = true;
    draw();
  });
  return h(
    "div",
    {},
    h(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": "table of figures" },
      h("table", { id }, h("thead", {}, h("tr", {}, ...heads)), body),
    ),
    everything ? null : more,
  );
}
