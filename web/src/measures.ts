// The paper's figure: every measure over the samples sorted by falling uncertainty, baseline and gated side by side.
import uPlot from "uplot";
import { Chart, line } from "./chart";
import { hasMeasure, isCertainty, measure, measureName, meta, plotted } from "./data";
import { h, labelled, section, select, toggle } from "./dom";

import { measureColour, measureVariable } from "./theme";

/** The measures that have a gated form, whose name is theirs with a "g" in front. */
const STEMS = meta.measure_table.filter((row) => row.gated).map((row) => row.name.slice(1));
const POINTS = 200;

interface State {
  on: Set<string>;
  sort: string;
  k: string;
  scale: string;
  axis: string;
}
const names = {
  baseline: STEMS.filter(hasMeasure),
  gated: (k: string): string[] =>
    STEMS.map((s) => `g${s}@${k}`)
      .filter(hasMeasure)
      .concat(hasMeasure("gmu") ? ["gmu"] : []),
};
const state: State = {
  on: new Set(["tu", "au", "eu", "epkl", "epjs", "gmu"]),
  sort: hasMeasure("tu") ? "tu" : meta.measures[0],
  k: String(meta.k[0] ?? 1),
  scale: "common",
  axis: "zoom",
};

const orders = new Map<string, Uint32Array>();
/** Rows of the random sample by falling uncertainty. */
function order(name: string): Uint32Array {
  let found = orders.get(name);
  if (!found) {
    const values = measure(name);
    const rows = Array.from(plotted().keys()).filter((row) => plotted()[row]);
    const sign = isCertainty(name) ? -1 : 1;
    found = Uint32Array.from(rows.sort((a, b) => sign * (values[b] - values[a]) || a - b));
    orders.set(name, found);
  }
  return found;
}

/** Means over bins of neighbours in the order; for a logarithmic axis the bins grow. */
function binned(name: string, rows: Uint32Array, edges: number[]): number[] {
  const values = measure(name);
  const out: number[] = [];
  for (let b = 0; b + 1 < edges.length; b++) {
    let sum = 0;
    for (let i = edges[b]; i < edges[b + 1]; i++) sum += values[rows[i]];
    out.push(sum / (edges[b + 1] - edges[b]));
  }
  return out;
}

function binEdges(n: number): number[] {
  const bins = Math.min(POINTS, n);
  const edges = Array.from({ length: bins + 1 }, (_, b) =>
    state.axis === "log" ? Math.round(n ** (b / bins)) - 1 : Math.round((b * n) / bins),
  );
  edges[bins] = n;
  return [...new Set(edges)];
}

const stemOf = (name: string): string => (name.includes("@") ? name.slice(1).split("@")[0] : name);
const shown = (list: string[]): string[] => list.filter((name) => state.on.has(stemOf(name)));

function curves(list: string[]): { data: uPlot.AlignedData; largest: number[] } {
  const edges = binEdges(order(state.sort).length);
  const columns = list.map((name) => binned(name, order(state.sort === "own" ? name : state.sort), edges));
  const x = edges.slice(1).map((edge, i) => (100 * (edge + edges[i])) / 2 / order(state.sort).length);
  return { data: [x, ...columns] as uPlot.AlignedData, largest: columns.map((c) => Math.max(...c)) };
}

/** How far to the right some curve is still above 1 % of the scale, in steps of 10 %. */
function reach(data: uPlot.AlignedData): number {
  let last = 0;
  for (const column of data.slice(1))
    for (let i = 0; i < column.length; i++) if ((column[i] ?? 0) > 0.01) last = Math.max(last, data[0][i]);
  return Math.min(100, Math.max(10, 10 * Math.ceil(last / 10)));
}

function makeChart(title: string, list: () => string[]): Chart {
  return new Chart(`${title} over samples sorted by falling uncertainty`, 300, () => {
    const here = shown(list());
    const { data, largest } = curves(here);
    const common = Math.max(
      1e-300,
      ...curves(shown(names.baseline)).largest,
      ...curves(shown(names.gated(state.k))).largest,
    );
    for (let s = 0; s < here.length; s++) {
      const column = data[s + 1] as number[];
      const by = state.scale === "common" ? common : largest[s] || 1;
      for (let i = 0; i < column.length; i++) column[i] /= by;
    }
    return {
      data,
      series: here.map((name) => line(measureColour(stemOf(name)), name === "gmu" ? { dash: [6, 4] } : {})),
      x: {
        label: "samples, most uncertain first (%)",
        log: state.axis === "log",
        range: state.axis === "log" ? undefined : [0, state.axis === "zoom" ? reach(data) : 100],
      },
      y: { label: "uncertainty / largest", range: [0, 1.02] },
    };
  });
}

export function measures(): HTMLElement | null {
  if (!names.baseline.length && !names.gated(state.k).length) return null;
  const charts = [
    makeChart("Baseline measures", () => names.baseline),
    makeChart("Gated measures", () => names.gated(state.k)),
  ];
  const redraw = (): void => charts.forEach((chart) => chart.redraw());
  const caption = h("figcaption", {});
  const name = (): void => void (caption.textContent = `Gated, k = ${state.k}`);
  name();
  const all = [...names.baseline.map(stemOf), ...(hasMeasure("gmu") ? ["gmu"] : [])];
  const sorts = meta.measures.map((m) => [m, measureName(m)] as [string, string]);
  return section(
    "measures",
    "What kind of uncertainty",
    "Every measure over the samples, most uncertain first, averaged over neighbours. Where the gated " +
      "curves fall below the baseline, the members disagree about the runner-up classes only.",
    h(
      "div",
      { class: "row" },
      labelled(
        "Sort by",
        select(sorts, state.sort, (v) => {
          state.sort = v;
          redraw();
        }),
      ),
      meta.k.length
        ? labelled(
            "k",
            select(
              meta.k.map((k) => [String(k), String(k)]),
              state.k,
              (v) => {
                state.k = v;
                name();
                redraw();
              },
            ),
          )
        : null,
      labelled(
        "Scale",
        select(
          [
            ["common", "largest of all"],
            ["own", "each by its own largest"],
          ],
          state.scale,
          (v) => {
            state.scale = v;
            redraw();
          },
        ),
      ),
      labelled(
        "Axis",
        select(
          [
            ["zoom", "where it matters"],
            ["linear", "all samples"],
            ["log", "all, logarithmic"],
          ],
          state.axis,
          (v) => {
            state.axis = v;
            redraw();
          },
        ),
      ),
    ),
    h(
      "fieldset",
      { class: "toggles" },
      h("legend", {}, "Measures"),
      ...all.map((stem) =>
        toggle(stem.toUpperCase(), state.on.has(stem), measureVariable(stem), (on) => {
          if (on) state.on.add(stem);
          else state.on.delete(stem);
          redraw();
        }),
      ),
    ),
    h(
      "div",
      { class: "pair" },
      h("figure", {}, h("figcaption", {}, "Baseline"), charts[0].host),
      h("figure", {}, caption, charts[1].host),
    ),
  );
}
