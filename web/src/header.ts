// The head of the page: what was scored, the figures, and the verdict on collapse in words.
import { Evaluation, isSampled, many, meta } from "./data";
import { h } from "./dom";
import { count, date, figure, percent } from "./format";
import { switchTheme } from "./theme";

function tile(name: string, value: string, help: string, id: string, under: string | null = null): HTMLElement {
  return h(
    "div",
    { class: "tile", title: help },
    h("dt", {}, name),
    h("dd", { id }, value),
    under ? h("dd", { class: "under" }, under) : null,
  );
}

function tiles(): HTMLElement {
  const e = meta.evaluation;
  const beside = (show: (other: Evaluation) => string): string | null =>
    meta.other ? `${show(meta.other)} ${meta.is_calibrated ? "before calibration" : "calibrated"}` : null;
  return h(
    "dl",
    { class: "tiles" },
    e &&
      tile(
        "Accuracy",
        percent(e.accuracy),
        meta.labels ? "share of labels predicted right" : `share of ${many} predicted right`,
        "accuracy",
        beside((o) => percent(o.accuracy)),
      ),
    e &&
      meta.labels > 0 &&
      tile("All labels right", percent(e.subset_accuracy), "share of samples right in every label", "subset"),
    e && meta.labels > 0 && tile("F1 micro", figure(e.f1_micro), "F1 over all labels at once", "f1-micro"),
    e && meta.sites && tile("mIoU", figure(e.miou), "mean over classes of intersection over union", "miou"),
    e &&
      tile(
        "F1 macro",
        figure(e.f1_macro),
        meta.labels ? "mean over labels of F1" : "mean over classes of F1",
        "f1",
        beside((o) => figure(o.f1_macro)),
      ),
    e &&
      tile(
        "ECE",
        figure(e.ece),
        "expected calibration error, 15 bins: how far confidence is from accuracy",
        "ece",
        beside((o) => figure(o.ece)),
      ),
    e &&
      tile(
        "NLL",
        figure(e.nll),
        "negative log-likelihood of the mean distribution",
        "nll",
        beside((o) => figure(o.nll)),
      ),
    e &&
      tile(
        "Brier",
        figure(e.brier),
        "sum over classes of squared differences, averaged over samples",
        "brier",
        beside((o) => figure(o.brier)),
      ),
    tile("Diversity D", figure(meta.diversity), "mean variance over members of the class probabilities", "diversity"),
    tile(
      "k-sensitivity",
      figure(meta.k_sensitivity),
      "1 - mean GTU at the largest k / mean TU: how much the gate moves",
      "k-sensitivity",
    ),
  );
}

const samples = (): [string, string | null][] =>
  meta.labels
    ? [
        ["Samples N", count(meta.n / meta.labels)],
        ["Labels C", count(meta.labels)],
      ]
    : [
        ["Samples N", count(meta.n)],
        ["Classes C", count(meta.c)],
      ];

function sites(): [string, string | null][] {
  const [n, height, width, depth] = meta.sites?.shape ?? [0, 0, 0, 1];
  return [
    ["Images N", count(n)],
    ["Sites of each", `${height} x ${width}${depth > 1 ? ` x ${depth}` : ""}`],
    ["Sites", count(meta.n)],
    ["Left out", meta.sites?.ignored ? count(meta.sites.ignored) : null],
    ["Classes C", count(meta.c)],
  ];
}

function facts(): HTMLElement {
  const list: [string, string | null][] = [
    ["Data set", meta.dataset],
    ["Ensemble", meta.ensemble],
    ["Members M", meta.m ? count(meta.m) : null],
    ...(meta.sites ? sites() : samples()),
    ["Gate settings k", meta.k.join(", ")],
    ["File", meta.source],
    ["Made", meta.created ? date(meta.created) : null],
  ];
  return h(
    "dl",
    { class: "facts" },
    ...list.filter(([, value]) => value).map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))),
  );
}

function verdict(): HTMLElement | null {
  if (!meta.verdict) return null;
  const good = meta.verdict === "diverse";
  const [head, ...rest] = (meta.verdict_text ?? meta.verdict).split(": ");
  return h(
    "p",
    { class: `verdict ${good ? "good" : meta.verdict === "low" ? "fair" : "bad"}`, id: "verdict" },
    h("strong", {}, `${good ? "\u2713" : "\u26a0"} Ensemble ${head}`),
    rest.length ? `: ${rest.join(": ")}.` : ".",
  );
}

export function header(): HTMLElement {
  document.title = `${meta.title ?? "Report"} \u2013 vargate`;
  return h(
    "header",
    { class: "head" },
    h(
      "div",
      { class: "bar" },
      h("h1", {}, meta.title ?? "Report"),
      h("button", { type: "button", class: "quiet", id: "theme", onclick: switchTheme }, "Light / dark"),
    ),
    facts(),
    meta.note ? h("p", { class: "about" }, `Figures: ${meta.note}.`) : null,
    verdict(),
    tiles(),
    meta.evaluation
      ? null
      : h(
          "p",
          { class: "notice" },
          "No labels were given: accuracy, risk and calibration are not shown. vargate report ... " +
            "--labels FILE adds them.",
        ),
    isSampled
      ? h(
          "p",
          { class: "notice", id: "sampled" },
          meta.sites
            ? `Plots of single sites show a random sample of ${count(meta.rows)} of ${count(meta.n)}. ` +
                "Every number of the decision rule, the tables of figures and the risk-coverage curves count all sites."
            : `Plots and the table below show ${count(meta.rows)} of ${count(meta.n)} ${
                meta.labels ? "labels" : "samples"
              }: a random sample, and the most uncertain and the most surprising ones. ` +
                "Every number of the decision rule, the tables of figures and the risk-coverage curves count all.",
        )
      : null,
  );
}
