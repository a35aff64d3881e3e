// Prediction sets: coverage and sizes of the sets at each alpha, the share of labels that may be missed, with
// intervals.
import { meta } from "./data";
import { h, section } from "./dom";
import { count, figure, percent } from "./format";

type Interval = [number | null, number | null];
interface SetRow {
  alpha: number;
  threshold: number | null;
  coverage: number | null;
  mean_size: number | null;
  median_size: number | null;
  singletons: number | null;
  empty: number | null;
  worst_class_coverage: number | null;
  risk?: number | null;
  intervals: Record<string, Interval | null>;
}
interface SetDocument {
  score: string;
  unit?: string;
  calibrated: number;
  n: number;
  alphas: SetRow[];
}

const words: Record<string, string> = {
  lac: "lac: every class whose mean is large enough",
  aps: "aps: the most probable classes until enough probability is gathered",
};

export function sets(): HTMLElement | null {
  if (!meta.sets) return null;
  const documents = JSON.parse(meta.sets) as SetDocument[];
  if (!documents.length) return null;
  const cell = (row: SetRow, name: keyof SetRow & string, show: (v: number) => string): HTMLElement => {
    const value = row[name] as number | null | undefined;
    const range = row.intervals[name];
    const known = range && range[0] !== null && range[1] !== null;
    return h(
      "td",
      {},
      value === null || value === undefined ? "\u2013" : show(value),
      known ? h("span", { class: "range" }, `${show(range[0] as number)} \u2013 ${show(range[1] as number)}`) : null,
    );
  };
  const multilabel = meta.labels > 0;
  const heads = multilabel
    ? ["alpha", "labels found", "mean size", "one label", "empty"]
    : ["alpha", "coverage", "mean size", "single", "empty", "worst class"];
  const row = (r: SetRow): HTMLElement =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, String(r.alpha), r.threshold === null ? " (every class: too few to calibrate on)" : ""),
      cell(r, "coverage", (v) => percent(v, 1)),
      cell(r, "mean_size", (v) => figure(v, 3)),
      cell(r, "singletons", (v) => percent(v, 1)),
      cell(r, "empty", (v) => percent(v, 1)),
      multilabel ? null : cell(r, "worst_class_coverage", (v) => percent(v, 1)),
    );
  const table = (d: SetDocument): HTMLElement =>
    h(
      "div",
      {},
      h("h3", {}, multilabel ? "Sets of labels" : (words[d.score] ?? d.score)),
      h(
        "div",
        { class: "scroll", tabindex: 0, role: "region", "aria-label": `prediction sets by ${d.score}` },
        h(
          "table",
          { id: `sets-${d.score}`, class: "sets" },
          h("thead", {}, h("tr", {}, ...heads.map((head) => h("th", { scope: "col" }, head)))),
          h("tbody", {}, ...d.alphas.map(row)),
        ),
      ),
    );
  const first = documents[0];
  return section(
    "sets",
    "Sets instead of answers",
    (multilabel
      ? "A set holds the labels that cannot be excluded: with 95 % confidence it misses at most the share alpha of a " +
        "sample's labels. "
      : "A set holds the classes that cannot be excluded: " +
        (first.unit === "image"
          ? "in a new image of the same population it misses the truth in at most the share alpha of the sites, on " +
            "average over images. "
          : "on samples of the same population it holds the truth with probability 1 \u2212 alpha or more. ") +
        "A set of one class is an answer, a longer one a short list for a person. ") +
      `Calibrated on ${count(first.calibrated)} ${first.unit === "image" ? "images" : "samples"} ` +
      `(${meta.sets_from ?? ""}), counted on ${count(first.n)} ${first.unit === "image" ? "sites" : "samples"}; ` +
      "intervals of 95 %. vargate sets writes them.",
    ...documents.map(table),
  );
}
