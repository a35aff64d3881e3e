// Every class, or label, in a table: how often it occurs and is found, and what happens to it at the chosen k. Counts
// are of all rows; precision, recall and F1 are those of `vargate evaluate`.
import { changed, inAddress } from "./address";
import {
  gridKept,
  gridWrong,
  groupCount,
  groupName,
  groupWord,
  labelOf,
  labels,
  many,
  meta,
  predictions,
} from "./data";
import { h, perFrame, section, showAll } from "./dom";
import { count, figure, percent } from "./format";
import { getK, gridIndex, hasLabels, isKept, onK } from "./rule";

const SHOWN = 25;

interface Row {
  index: number;
  total: number; // rows that can be answered: the support or, of a label, every sample
  support: number;
  predicted: number;
  found: number; // predicted right
  answered: number; // of the total (without labels: of the predicted)
  wrong: number; // among the answered
}

const noRow = (index: number): Row => ({ index, total: 0, support: 0, predicted: 0, found: 0, answered: 0, wrong: 0 });

function fromGrid(k: number): Row[] {
  const grid = meta.grid;
  if (!grid) return [];
  const from = gridIndex(k) * grid.groups;
  return grid.total.map((total, index) => ({
    index,
    total,
    support: grid.support[index],
    predicted: grid.predicted[index],
    found: grid.found[index],
    answered: gridKept()[from + index],
    wrong: gridWrong()[from + index],
  }));
}

function countAll(k: number): Row[] {
  if (meta.grid) return fromGrid(k);
  const truth = labels();
  const predicted = predictions();
  const rows: Row[] = Array.from({ length: groupCount }, (_, index) => noRow(index));
  for (let i = 0; i < meta.n; i++) {
    const right = truth !== null && truth[i] === predicted[i];
    const own = rows[meta.labels ? labelOf(i) : truth ? truth[i] : predicted[i]];
    own.total++;
    if (meta.labels) {
      own.support += Number(truth !== null && truth[i] === 1);
      own.predicted += predicted[i];
      own.found += Number(right && predicted[i] === 1);
    } else {
      rows[predicted[i]].predicted++;
      own.support++;
      own.found += Number(right);
    }
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
  { key: "class", title: groupWord, help: "", value: (r) => r.index, show: (r) => groupName(r.index) },
  {
    key: "samples",
    title: !hasLabels ? "predicted" : meta.labels ? "positives" : meta.sites ? "sites" : "samples",
    help: meta.labels ? "samples that have it" : hasLabels ? "whose true class this is" : "predicted as this class",
    value: (r) => (hasLabels || !meta.labels ? r.support : r.predicted),
    show: (r) => count(hasLabels || !meta.labels ? r.support : r.predicted),
  },
  ...(hasLabels
    ? [
        {
          key: "recall",
          title: "recall",
          help: meta.labels ? "share of its positives that are predicted" : "share of them that are predicted right",
          value: (r: Row) => share(r.found, r.support),
          show: (r: Row) => percent(share(r.found, r.support)),
        },
        {
          key: "precision",
          title: "precision",
          help: "share of those predicted so that are it",
          value: (r: Row) => share(r.found, r.predicted),
          show: (r: Row) => percent(share(r.found, r.predicted)),
        },
        ...(meta.sites
          ? [
              {
                key: "iou",
                title: "IoU",
                help: "intersection over union",
                value: (r: Row) => share(r.found, r.support + r.predicted - r.found),
                show: (r: Row) => figure(share(r.found, r.support + r.predicted - r.found)),
              },
            ]
          : []),
        { key: "f1", title: "F1", help: "harmonic mean of both", value: f1, show: (r: Row) => figure(f1(r)) },
      ]
    : []),
  {
    key: "answered",
    title: "answered",
    help: `share of its ${many} that are answered at this k`,
    value: (r) => share(r.answered, r.total),
    show: (r) => `${count(r.answered)} (${percent(share(r.answered, r.total), 1)})`,
  },
  ...(hasLabels
    ? [
        {
          key: "risk",
          title: "wrong of the answered",
          help: `share of its answered ${many} that are answered wrongly`,
          value: (r: Row) => share(r.wrong, r.answered),
          show: (r: Row) => `${count(r.wrong)} (${percent(share(r.wrong, r.answered))})`,
        },
      ]
    : []),
];

export function classes(): HTMLElement | null {
  if (meta.grid && !meta.grid.groups) return null;
  let sorted = "class";
  let direction = 1;
  let everything = groupCount <= SHOWN;
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
    const first = ["class", "recall", "precision", "iou", "f1", "answered"].includes(key);
    direction = way ?? (sorted === key ? -direction : first ? 1 : -1);
    sorted = key;
    draw();
    changed();
  };
  const more = showAll(`Show all ${count(groupCount)} ${groupWord === "class" ? "classes" : "labels"}`, () => {
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
    meta.labels ? "Label by label" : "Class by class",
    meta.labels
      ? "Positives, recall, precision and F1 are of the label's presence. What is answered follows k."
      : hasLabels
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
