// How well the measures work: risk-coverage curves, error detection, reliability, training, out-of-distribution sets.
import uPlot from "uplot";
import { Chart, dot, line, mark } from "./chart";
import { Evaluation, OodSet, isCertainty, measureName, meta } from "./data";
import { h, labelled, perFrame, printed, section, select, toggle } from "./dom";
import { count, figure, percent, plain } from "./format";
import { sortableTable } from "./table";
import { getK, onK, outcome } from "./rule";
import { css, measureColour, measureVariable } from "./theme";

/** Values of a step plot, whose last step needs an end: the last edge, or the last value again. */
const closed = (values: number[], end = values[values.length - 1]): number[] => [...values, end];
const dashOf = (name: string): number[] | undefined => (name.includes("@") ? [7, 4] : undefined);

// --- selective prediction ----------------------------------------------------------------------------------------
export function selective(): HTMLElement | null {
  const e = meta.evaluation;
  if (!e?.measures) return null;
  const rankings = e.measures;
  const names = Object.keys(rankings);
  const first = meta.k.length ? `@${meta.k[0]}` : "@";
  const on = new Set(names.filter((name) => ["tu", "eu", "gmu", `gtu${first}`].includes(name)));
  const chart = new Chart("Risk against coverage by measure", 320, () => {
    const shown = names.filter((name) => on.has(name) && rankings[name].curve);
    const points = rankings[shown[0]]?.curve?.length ?? 1;
    const x = Array.from({ length: points }, (_, i) => (100 * (i + 1)) / points);
    return {
      data: [x, ...shown.map((name) => (rankings[name].curve ?? []).map((v) => 100 * v))] as uPlot.AlignedData,
      series: shown.map((name) => line(measureColour(name), { dash: dashOf(name) })),
      x: { label: "coverage (%)", range: [0, 100] },
      y: { label: "risk (%)" },
      draw: (u) => {
        const o = outcome(getK());
        if (o.kept) dot(u, 100 * o.coverage, 100 * o.risk, css("--c4"), 5);
      },
    };
  });
  onK(perFrame(() => chart.refresh()));
  const redraw = (): void => chart.redraw();
  const columns: [string, (name: string) => number | null, boolean, (v: number | null) => string][] = [
    ["AURC", (n) => rankings[n].aurc, false, figure],
    ["E-AURC", (n) => rankings[n].eaurc, false, figure],
    ["AUGRC", (n) => rankings[n].augrc, false, figure],
    ["AUROC", (n) => rankings[n].error_auroc, true, figure],
    ["AUPR", (n) => rankings[n].error_aupr, true, figure],
    ...(e.coverages ?? []).map(
      (c, i) =>
        [`risk at ${plain(100 * c)}\u00a0%`, (n: string) => rankings[n].risk_at_coverage[i], false, percent] as [
          string,
          (n: string) => number | null,
          boolean,
          (v: number | null) => string,
        ],
    ),
    ...(e.risks ?? []).map(
      (r, i) =>
        [
          `coverage at ${plain(100 * r)}\u00a0%\u00a0risk`,
          (n: string) => rankings[n].coverage_at_risk[i],
          true,
          percent,
        ] as [string, (n: string) => number | null, boolean, (v: number | null) => string],
    ),
  ];
  const ungated = names.filter((name) => !name.includes("@"));
  const gated = names.filter((name) => name.includes("@"));
  const switches = (list: string[]): HTMLElement[] =>
    list.map((name) =>
      toggle(measureName(name), on.has(name), measureVariable(name), (is) => {
        if (is) on.add(name);
        else on.delete(name);
        redraw();
      }),
    );
  return section(
    "selective",
    "Which measure finds the errors",
    "Answer the most certain cases first: the share answered is the coverage, the share of errors among " +
      "them the risk. The dot is the decision rule at the chosen k. Dashed: gated.",
    h("fieldset", { class: "toggles" }, h("legend", {}, "Curves"), ...switches(ungated)),
    gated.length
      ? printed(
          h(
            "details",
            {},
            h("summary", {}, "Gated measures"),
            h("fieldset", { class: "toggles" }, h("legend", {}, "Gated"), ...switches(gated)),
          ),
        )
      : null,
    h("figure", {}, chart.host),
    h("h3", {}, "Error detection"),
    sortableTable(
      "error-table",
      names,
      ["measure", ...columns.map((c) => c[0])],
      (name) => [measureName(name), ...columns.map((c) => c[3](c[1](name)))],
      columns.map((c) => ({ value: c[1], higher: c[2] })),
    ),
  );
}

// --- reliability -------------------------------------------------------------------------------------------------
export function reliability(): HTMLElement | null {
  const e = meta.evaluation;
  if (!e) return null;
  const before = meta.is_calibrated ? meta.other : e;
  const after = meta.is_calibrated ? e : meta.other;
  const points = (v: Evaluation): [number, number][] =>
    v.reliability.filter((b) => b.count > 0).map((b) => [b.confidence ?? 0, b.accuracy ?? 0]);
  const sets: [string, Evaluation, string][] = [];
  if (before) sets.push([after ? "before calibration" : "as predicted", before, "--c4"]);
  if (after) sets.push(["calibrated", after, "--c2"]);
  const diagram = new Chart("Reliability: accuracy against confidence", 320, () => {
    const xs = [...new Set([0, 1, ...sets.flatMap(([, v]) => points(v).map((p) => p[0]))])].sort((a, b) => a - b);
    const columns = sets.map(([, v]) => {
      const at = new Map(points(v));
      return xs.map((x) => at.get(x) ?? null);
    });
    return {
      data: [xs, xs, ...columns] as uPlot.AlignedData,
      series: [
        line(css("--ink3"), { dash: [3, 4], width: 1.25 }),
        ...sets.map(([, , c]) => line(css(c), { width: 2, points: { show: true, size: 7, fill: css(c) } })),
      ],
      x: { label: "confidence", range: [0, 1] },
      y: { label: "accuracy", range: [0, 1] },
    };
  });
  const counts = new Chart("How many samples have which confidence", 320, () => {
    const bins = e.reliability;
    return {
      data: [
        closed(
          bins.map((b) => b.low),
          1,
        ),
        ...sets.map(([, v]) => closed(v.reliability.map((b) => (100 * b.count) / meta.n))),
      ] as uPlot.AlignedData,
      series: sets.map(([, , c], i) =>
        line(css(c), { paths: uPlot.paths.stepped?.({ align: 1 }), fill: i === 0 ? `${css(c)}33` : undefined }),
      ),
      x: { label: "confidence", range: [0, 1] },
      y: { label: "samples (%)" },
    };
  });
  const legend = h(
    "p",
    { class: "legend" },
    ...sets.map(([name, v, c]) =>
      h(
        "span",
        {},
        h("i", { class: "swatch", style: `--swatch:var(${c})` }),
        `${name}: ECE ${figure(v.ece)}, MCE ${figure(v.mce)}, NLL ${figure(v.nll)}`,
      ),
    ),
  );
  return section(
    "reliability",
    "Is its confidence honest",
    "Of the answers given with 80 % confidence, 80 % should be right. On the dotted line accuracy equals confidence.",
    legend,
    ...e.notes.map((note) => h("p", { class: "about" }, note)),
    h(
      "div",
      { class: "pair" },
      h("figure", {}, h("figcaption", {}, "Accuracy against confidence"), diagram.host),
      h("figure", {}, h("figcaption", {}, "Distribution of confidence"), counts.host),
    ),
  );
}

// --- training ----------------------------------------------------------------------------------------------------
export function training(): HTMLElement | null {
  const t = meta.training;
  if (!t) return null;
  const positive = (v: (number | null)[]): (number | null)[] => v.map((x) => (x !== null && x > 0 ? x : null));
  const has = (v: (number | null)[]): boolean => v.some((x) => x !== null);
  const collapse = (u: uPlot): void => {
    if (t.collapse !== null) mark(u, t.collapse, "collapse", css("--c4"));
  };
  const diversity = new Chart("Diversity over epochs", 280, () => ({
    data: [t.epoch, positive(t.diversity)] as uPlot.AlignedData,
    series: [line(css("--c2"), { width: 2 })],
    x: { label: "epoch" },
    y: { label: "diversity D", log: true, size: 66 },
    draw: collapse,
  }));
  const losses: [string, (number | null)[], string][] = [
    ["training loss", t.train_loss, "--c1"],
    ["validation loss", t.val_loss, "--c3"],
  ];
  const shown = losses.filter(([, v]) => has(v));
  const accuracies: [string, (number | null)[], string][] = [
    ["training accuracy (right)", t.train_accuracy ?? [], "--c0"],
    ["validation accuracy (right)", t.val_accuracy, "--ink2"],
  ];
  const right = accuracies.filter(([, v]) => has(v));
  const diverse = has(positive(t.diversity));
  const loss = new Chart("Loss over epochs", 280, () => ({
    data: [t.epoch, ...shown.map(([, v]) => v), ...right.map(([, v]) => v)] as uPlot.AlignedData,
    series: [
      ...shown.map(([, , c]) => line(css(c), { width: 2 })),
      ...right.map(([, , c]) => line(css(c), { scale: "y2", dash: [3, 3] })),
    ],
    x: { label: "epoch" },
    y: { label: "loss" },
    y2: right.length > 0 ? { label: "accuracy", range: [0, 1] } : undefined,
    draw: collapse,
  }));
  const legend = h(
    "p",
    { class: "legend" },
    ...[...shown, ...right].map(([name, , c]) =>
      h("span", {}, h("i", { class: "swatch", style: `--swatch:var(${c})` }), name),
    ),
  );
  const gates = t.k ?? null;
  const colour = (i: number): string => (i < 6 ? `--c${i}` : "--ink2");
  const gate = new Chart("k over epochs", 280, () => ({
    data: [t.epoch, ...(gates?.lines ?? [])] as uPlot.AlignedData,
    series: (gates?.lines ?? []).map((_, i) => line(css(colour(i)), i < 6 ? { width: 2 } : { dash: [2 + (i % 4), 3] })),
    x: { label: "epoch" },
    y: { label: "k of the gate" },
  }));
  return section(
    "training",
    diverse ? "How diversity went in training" : "How training went",
    !diverse
      ? "Figures of the networks while they trained; where there are several, their means."
      : t.collapse === null
        ? "Diversity D is the mean variance over members; no collapse was noted."
        : `Diversity fell and stayed below a small share of its peak at epoch ${t.collapse}: the members had ` +
          "become nearly the same.",
    legend,
    h(
      "div",
      { class: "pair" },
      diverse ? h("figure", {}, h("figcaption", {}, "Diversity D (logarithmic)"), diversity.host) : null,
      h("figure", {}, h("figcaption", {}, "Loss and accuracy"), loss.host),
      gates
        ? h(
            "figure",
            {},
            h("figcaption", {}, "k of the gate, trained with the network"),
            gate.host,
            h(
              "p",
              { class: "legend" },
              ...gates.names.map((name, i) => {
                const last = gates.lines[i]?.[t.epoch.length - 1];
                const value = last === null || last === undefined ? "" : ` ${last.toPrecision(3)}`;
                return h("span", {}, h("i", { class: "swatch", style: `--swatch:var(${colour(i)})` }), name + value);
              }),
            ),
          )
        : null,
    ),
  );
}

// --- out of distribution -----------------------------------------------------------------------------------------
const FLOOR = 0.01; // smallest share a bar shows, in percent

function oodPlots(set: OodSet, best: string): HTMLElement {
  let name = best;
  const stepped = uPlot.paths.stepped?.({ align: 1 });
  const histogram = new Chart(`Values of in-distribution samples and of ${set.name}`, 280, () => {
    const m = set.measures[name];
    const bins = m.id.length;
    return {
      data: [
        closed(
          m.id.map((_, b) => m.low + ((m.high - m.low) * b) / bins),
          m.high,
        ),
        closed(m.id.map((v) => Math.max(FLOOR, (100 * v) / meta.n))),
        closed(m.ood.map((v) => Math.max(FLOOR, (100 * v) / set.n))),
      ] as uPlot.AlignedData,
      series: [
        line(css("--c2"), { paths: stepped, fill: `${css("--c2")}44` }),
        line(css("--c1"), { paths: stepped, fill: `${css("--c1")}44` }),
      ],
      x: { label: `${isCertainty(name) ? "\u2212" : ""}${measureName(name)}` },
      y: { label: "samples (%), logarithmic", log: true, range: [FLOOR, 100] },
    };
  });
  const roc = new Chart(`ROC of ${set.name}`, 280, () => ({
    data: [set.measures[name].fpr, set.measures[name].tpr, set.measures[name].fpr] as uPlot.AlignedData,
    series: [line(measureColour(name), { width: 2 }), line(css("--ink3"), { dash: [3, 4], width: 1.25 })],
    x: { label: "in-distribution called OOD", range: [0, 1] },
    y: { label: "OOD found", range: [0, 1] },
  }));
  const caption = h("figcaption", {});
  const name_it = (): void =>
    void (caption.textContent = `ROC by ${measureName(name)}: AUROC ${figure(set.measures[name].auroc)}`);
  name_it();
  return h(
    "div",
    {},
    h(
      "div",
      { class: "row" },
      labelled(
        "Measure",
        select(
          Object.keys(set.measures).map((m) => [m, measureName(m)]),
          best,
          (v) => {
            name = v;
            name_it();
            histogram.redraw();
            roc.redraw();
          },
        ),
      ),
    ),
    h(
      "div",
      { class: "pair" },
      h(
        "figure",
        {},
        h(
          "figcaption",
          {},
          h("i", { class: "swatch", style: "--swatch:var(--c2)" }),
          "in distribution ",
          h("i", { class: "swatch", style: "--swatch:var(--c1)" }),
          set.name,
        ),
        histogram.host,
      ),
      h("figure", {}, caption, roc.host),
    ),
  );
}

function oodSet(set: OodSet, index: number): HTMLElement {
  const names = Object.keys(set.measures);
  const best = names.reduce((a, b) => ((set.measures[b].auroc ?? 0) > (set.measures[a].auroc ?? 0) ? b : a), names[0]);
  const columns: [string, (n: string) => number | null, boolean][] = [
    ["AUROC", (n) => set.measures[n].auroc, true],
    ["AUPR-out", (n) => set.measures[n].aupr_out, true],
    ["AUPR-in", (n) => set.measures[n].aupr_in, true],
    ["FPR95", (n) => set.measures[n].fpr95, false],
    ["detection error", (n) => set.measures[n].detection_error, false],
  ];
  return h(
    "div",
    {},
    h("h3", {}, `${set.name} (${count(set.n)} samples)`),
    oodPlots(set, best),
    sortableTable(
      `ood-table-${index}`,
      names,
      ["measure", ...columns.map((c) => c[0])],
      (n) => [measureName(n), ...columns.map((c) => figure(c[1](n)))],
      columns.map((c) => ({ value: c[1], higher: c[2] })),
    ),
  );
}

export function ood(): HTMLElement | null {
  if (!meta.ood.length) return null;
  return section(
    "ood",
    "Does it notice what it has never seen",
    "Out-of-distribution samples are the positive class. AUROC 0.5 is chance, 1 perfect; FPR95 is the " +
      "share of in-distribution samples called OOD where 95 % of OOD is found.",
    ...meta.ood.map(oodSet),
  );
}
