// Every class in a table: how often it occurs and is found, and what happens to it at the chosen k. Counts are of all
// samples; precision, recall and F1 are those of `vargate evaluate`.
import { changed, inAddress } from "./address";
import { className, labels, meta, predictions } from "./data";
import { h, perFrame, section, showAll } from "./dom";
import { count, figure, percent } from "./format";
import { getK, hasLabels, isKept, onK } from "./rule";

const SHOWN = 25;

interface Row {
  index: number;
  support: number;
  predicted: number;
  found: number; // predicted right
  answered: number; // of the support (without labels: of the predicted)
  wrong: number; // among the answered
}

function countAll(k: number): Row[] {
  const truth = labels();
  const predicted = predictions();
  const rows: Row[] = Array.from({ length: meta.c }, (_, index) => ({
    index,
    support: 0,
    predicted: 0,
    found: 0,
    answered: 0,
    wrong: 0,
  }));
  for (let i = 0; i < meta.n; i++) {
    const own = rows[truth ? truth[i] : predicted[i]];
    rows[predicted[i]].predicted++;
    own.support++;
    const right = truth !== null && truth[i] === predicted[i];
    own.found += Number(right);
    if (!isKept(i, k)) continue;
    own.answered++;
    own.wrong += Number(truth !== null && !right);
  }
  return rows;
}

const share = (part: number, whole: number): number => (whole ? part / whole : NaN);
const f1 = (row: Row): number => share(2 * row.found, row.support + row.predicted);

interface ClassColumn {
  key: string;
  title: string;
  help: string;
  value: (row: Row) => number;
  show: (row: Row) => string;
}
const columns: ClassColumn[] = [
  { key: "class", title: "class", help: "", value: (r) => r.index, show: (r) => className(r.index) },
  {
    key: "samples",
    title: hasLabels ? "samples" : "predicted",
    help: hasLabels ? "samples whose true class this is" : "samples predicted as this class",
    value: (r) => r.support,
    show: (r) => count(r.support),
  },
  ...(hasLabels
    ? [
        {
          key: "recall",
          title: "recall",
          help: "share of its samples that are predicted right",
          value: (r: Row) => share(r.found, r.support),
          show: (r: Row) => percent(share(r.found, r.support)),
        },
        {
          key: "precision",
          title: "precision",
          help: "share of the samples predicted as this class that belong to it",
          value: (r: Row) => share(r.found, r.predicted),
          show: (r: Row) => percent(share(r.found, r.predicted)),
        },
        { key: "f1", title: "F1", help: "harmonic mean of both", value: f1, show: (r: Row) => figure(f1(r)) },
      ]
    : []),
  {
    key: "answered",
    title: "answered",
    help: "share of its samples that are answered at this k",
    value: (r) => share(r.answered, r.support),
    show: (r) => `${count(r.answered)} (${percent(share(r.answered, r.support), 1)})`,
  },
  ...(hasLabels
    ? [
        {
          key: "risk",
          title: "wrong of the answered",
          help: "share of its answered samples that are answered wrongly",
          value: (r: Row) => share(r.wrong, r.answered),
          show: (r: Row) => `${count(r.wrong)} (${percent(share(r.wrong, r.answered))})`,
        },
      ]
    : []),
];

export function classes(): HTMLElement {
  let sorted = "class";
  let direction = 1;
  let everything = meta.c <= SHOWN;
  const body = h("tbody");
  const heads = columns.map((column) =>
    h(
      "th",
      { scope: "col", title: column.help || null },
      h("button", { type: "button", onclick: () => sort(column.key) }, column.title),
    ),
  );
  const draw = perFrame(() => {
    const column = columns.find((c) => c.key === sorted) ?? columns[0];
    const rank = (row: Row): number => {
      const value = column.value(row);
      return Number.isNaN(value) ? Infinity : direction * value; // what is not defined comes last
    };
    const rows = countAll(getK()).sort((a, b) => rank(a) - rank(b) || a.index - b.index);
    const shown = everything ? rows : rows.slice(0, SHOWN);
    body.replaceChildren(
      ...shown.map((row) =>
        h(
          "tr",
          {},
          ...columns.map((c, i) => (i === 0 ? h("th", { scope: "row" }, c.show(row)) : h("td", {}, c.show(row)))),
        ),
      ),
    );
    heads.forEach((head, i) => {
      if (columns[i].key === sorted) head.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
      else head.removeAttribute("aria-sort");
    });
  });
  const sort = (key: string, way?: number): void => {
    const first = key === "class" || key === "recall" || key === "precision" || key === "f1" || key === "answered";
    direction = way ?? (sorted === key ? -direction : first ? 1 : -1);
    sorted = key;
    draw();
    changed();
  };
  const more = showAll(`Show all ${count(meta.c)} classes`, () => {
    everything = true;
    draw();
  });
  inAddress(
    "classes",
    () => (sorted === "class" && direction > 0 ? null : `${sorted}${direction > 0 ? "" : "-"}`),
    (text) => {
      const key = text.replace(/-$/, "");
      if (columns.some((c) => c.key === key)) sort(key, text.endsWith("-") ? -1 : 1);
    },
  );
  onK(draw);
  return section(
    "classes",
    "Class by class",
    hasLabels
      ? "Rows are true classes. What is answered, and how much of it wrongly, follows k."
      : "Rows are predicted classes. What is answered follows k.",
    h(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": "table of classes" },
      h("table", { id: "class-table" }, h("thead", {}, h("tr", {}, ...heads)), body),
    ),
    everything ? null : more,
  );
}
