// The k control: how many samples are answered and how many are referred to a person at any k, updated as k moves.
import { changed, inAddress } from "./address";
import { Chart, dot, line } from "./chart";
import { groupName, groupWord, many, meta } from "./data";
import { h, labelled, perFrame, section, select } from "./dom";
import { entry, readNumber } from "./entry";
import type { Entry } from "./entry";
import { count, percent, plain } from "./format";
import {
  abstainedByGroup,
  curve,
  forCoverage,
  forObservedRisk,
  forRisk,
  getK,
  getPromise,
  gridIndex,
  hasLabels,
  onK,
  outcome,
  range,
  setK,
  totalErrors,
  wholeSamples,
} from "./rule";
import type { Answer } from "./rule";
import { css } from "./theme";

const [low, high] = range();
const grid = meta.grid?.k ?? null;
const STEPS = grid ? gridIndex(high) : 1000;
const toStep = (k: number): number =>
  grid ? gridIndex(k) : Math.round((STEPS * Math.log(Math.min(Math.max(k, low), high) / low)) / Math.log(high / low));
const toK = (step: number): number =>
  grid ? grid[step] : Number((low * (high / low) ** (step / STEPS)).toPrecision(3));

/** Whether a typed risk is promised for new cases, and bounds are shown; else what these samples show counts. */
let promising = meta.promise !== null;
const promiseListeners: (() => void)[] = [];
const confidence = (): string => plain(100 * (meta.promise?.confidence ?? 0.95));

/** The answer to a typed risk that is not to be a promise. */
function observed(target: number, choose: (k: number, text: string) => void): string {
  const k = forObservedRisk(target);
  if (k === null) return `At no k the risk among these ${many} is at most ${plain(100 * target)} %.`;
  const o = outcome(k);
  const text =
    `k = ${k}: among these ${many} ${count(o.errors)} of ${count(o.kept)} answers are wrong (${percent(o.risk)}). ` +
    "This is what was observed, no promise for new cases.";
  choose(k, text);
  return text;
}

function controls(): HTMLElement {
  const slider = h("input", {
    type: "range",
    min: 0,
    max: STEPS,
    step: 1,
    id: "k-slider",
    oninput: () => setK(toK(Number(slider.value))),
  });
  const answer = h("p", { class: "answer", id: "target-answer", role: "status" });
  let chosen: number | null = null; // the k that the answer names
  const choose = (k: number, text: string, promise: Answer | null = null): void => {
    chosen = k;
    setK(k, promise);
    answer.textContent = text;
  };
  const forget = (): void => {
    chosen = null;
    answer.textContent = "";
  };
  const number = entry("k-number", "exactly", "", { above: 0 }, "change", (k, wrong) => {
    risk.show("");
    cover.show("");
    forget();
    if (k !== null) setK(k);
    else if (!wrong) number.show(String(getK()));
  });
  const risk = entry("target-risk", "Risk I accept (%)", "1", { above: 0, most: 50 }, "input", (percentage) => {
    cover.show("");
    forget();
    if (percentage === null) return;
    if (!promising) return void (answer.textContent = observed(percentage / 100, choose));
    const found = forRisk(percentage / 100);
    if (!found || !meta.promise) return void (answer.textContent = "A risk below 0.01 % cannot be promised here.");
    const asked = `${plain(100 * found.target)} %`;
    if (found.k === null) {
      const why =
        found.fewest > meta.promise.tested
          ? `even without an error it takes ${count(found.fewest)} answered samples, ` +
            `and ${count(meta.promise.tested)} are tested`
          : found.needed
            ? `at the risks found it would take about ${count(found.needed)} labelled samples`
            : "the risk found is above it at every k";
      answer.textContent = `No k can promise a risk of ${asked} with ${confidence()} % confidence: ${why}.`;
      return;
    }
    const o = outcome(found.k);
    choose(
      found.k,
      `k = ${found.k}: on new cases like these the risk is at most ${asked} with ${confidence()} % confidence. ` +
        `${count(meta.n - o.kept)} of ${count(meta.n)} ${many} go to a person. ` +
        `Tested on ${count(meta.promise.tested)} samples; ${count(meta.promise.set_aside)} others placed ` +
        "the ks to try.",
      found,
    );
  });
  const cover = entry(
    "target-coverage",
    "or share to answer (%)",
    "95",
    { above: 0, most: 100 },
    "input",
    (percentage) => {
      risk.show("");
      forget();
      if (percentage === null) return;
      const k = forCoverage(percentage / 100);
      if (k === null)
        return void (answer.textContent =
          "No k answers so many: a sample whose two largest means are equal is never answered.");
      choose(k, `k = ${k} is the most selective that still answers ${plain(percentage)} % of the ${many}.`);
    },
  );
  onK((k) => {
    if (document.activeElement !== slider) slider.value = String(toStep(k));
    slider.setAttribute("aria-valuetext", `k = ${k}`);
    number.show(String(k));
    if (k === chosen) return;
    risk.show("");
    cover.show("");
    forget();
  });
  const box = h("input", {
    type: "checkbox",
    id: "promise",
    onchange: () => {
      promising = box.checked;
      for (const listener of promiseListeners) listener();
      if (risk.box.value) risk.type(risk.box.value);
      changed();
    },
  });
  box.checked = promising;
  const promise = h("label", { class: "switch" }, box, h("span", {}, `promise at ${confidence()} % confidence`));
  for (const typed of [risk.box, cover.box]) typed.addEventListener("input", changed);
  keepInAddress(box, risk, cover);
  const presets = meta.k.map((k) =>
    h("button", { type: "button", class: "quiet", onclick: () => setK(k) }, `k = ${k}`),
  );
  return h(
    "div",
    { class: "controls" },
    h("div", { class: "row" }, labelled("k", slider), number.host, h("span", { class: "presets" }, ...presets)),
    h("div", { class: "row" }, hasLabels ? risk.host : null, cover.host, hasLabels && meta.promise ? promise : null),
    answer,
  );
}

/** k comes first, so that a risk that cannot be promised leaves it as it was. */
function keepInAddress(promise: HTMLInputElement, risk: Entry, cover: Entry): void {
  const first = getK();
  inAddress(
    "promise",
    () => (promising || !meta.promise ? null : "off"),
    (text) => {
      if (!meta.promise) return;
      promise.checked = text !== "off";
      promise.dispatchEvent(new Event("change"));
    },
  );
  inAddress(
    "k",
    () => (getK() === first ? null : String(getK())),
    (text) => {
      const k = readNumber(text, { above: 0 });
      if (typeof k === "number") setK(k);
    },
  );
  const target = (box: Entry, name: string, most: number): void =>
    inAddress(
      name,
      () => (typeof readNumber(box.box.value, { above: 0, most }) === "number" ? box.box.value.trim() : null),
      (text) => {
        if (typeof readNumber(text, { above: 0, most }) === "number") box.type(text.trim());
      },
    );
  if (hasLabels) target(risk, "risk", 50);
  target(cover, "share", 100);
}

function figures(): HTMLElement {
  const cell = (id: string, name: string): HTMLElement =>
    h("div", { class: "tile" }, h("dt", {}, name), h("dd", { id }));
  const list = h(
    "dl",
    { class: "tiles" },
    cell("coverage", "Coverage"),
    cell("kept", "Answered"),
    cell("abstained", "To a person"),
    ...(hasLabels
      ? [
          cell("kept-accuracy", "Accuracy on the answered"),
          cell("risk", "Risk"),
          ...(meta.sites || meta.labels
            ? []
            : [cell("risk-bound", `Risk on new cases, ${confidence()} % upper bound`)]),
          cell("caught", "Errors caught"),
        ]
      : []),
    ...(wholeSamples(1) === null ? [] : [cell("whole", "Samples with every label answered")]),
  );
  const sentence = h("p", { class: "sentence", id: "sentence" });
  const set = (id: string, value: string): void => {
    const target = list.querySelector(`#${id}`);
    if (target) target.textContent = value;
  };
  const bound = list.querySelector<HTMLElement>("#risk-bound")?.parentElement;
  promiseListeners.push(() => {
    if (bound) bound.hidden = !promising;
  });
  onK((k) => {
    const o = outcome(k);
    set("coverage", percent(o.coverage));
    set("kept", count(o.kept));
    set("abstained", count(meta.n - o.kept));
    set("kept-accuracy", percent(1 - o.risk));
    set("risk", percent(o.risk));
    set("risk-bound", percent(getPromise()?.bound ?? o.bound));
    const whole = wholeSamples(k);
    if (whole !== null) set("whole", `${count(whole)} of ${count(meta.n / meta.labels)}`);
    set("caught", `${count(o.caught)} of ${count(totalErrors)}`);
    sentence.textContent =
      `At k = ${k} the ensemble answers ${count(o.kept)} of ${count(meta.n)} ${many} (${percent(o.coverage)})` +
      (hasLabels && o.kept ? `, ${count(o.errors)} of them wrongly (${percent(o.risk)})` : "") +
      `; ${count(meta.n - o.kept)} go to a person.`;
  });
  return h("div", {}, sentence, list);
}

function position(): HTMLElement | null {
  if (!hasLabels) return null;
  const points = curve(400);
  const chart = new Chart("Risk against coverage of the decision rule, with the position of the chosen k", 260, () => ({
    data: [points.coverage.map((v) => 100 * v), points.risk.map((v) => 100 * v)],
    series: [line(css("--accent"), { width: 2 })],
    x: { label: "coverage (%)", range: [0, 100] },
    y: { label: "risk (%)" },
    draw: (u) => {
      const o = outcome(getK());
      if (o.kept) dot(u, 100 * o.coverage, 100 * o.risk, css("--c4"), 6);
    },
  }));
  const later = perFrame(() => chart.refresh());
  onK(later);
  return h("figure", {}, h("figcaption", {}, "Risk and coverage of the rule; the dot is the chosen k"), chart.host);
}

function classes(): HTMLElement | null {
  if (meta.grid && !meta.grid.groups) return null;
  const SHOWN = 12;
  let byTruth = hasLabels;
  const list = h("ol", { class: "bars", id: "abstained-classes" });
  const draw = perFrame(() => {
    const rows = abstainedByGroup(getK(), byTruth)
      .filter((row) => row.abstained > 0)
      .sort((a, b) => b.abstained - a.abstained || a.index - b.index);
    const most = rows[0]?.abstained ?? 1;
    list.replaceChildren(
      ...rows
        .slice(0, SHOWN)
        .map((row) =>
          h(
            "li",
            {},
            h("span", { class: "name" }, groupName(row.index)),
            h(
              "span",
              { class: "track" },
              h("span", { class: "fill", style: `width:${(100 * row.abstained) / most}%` }),
            ),
            h("span", { class: "number" }, `${count(row.abstained)} (${percent(row.abstained / row.total, 1)})`),
          ),
        ),
      ...(rows.length > SHOWN
        ? [
            h(
              "li",
              { class: "rest" },
              `and ${rows.length - SHOWN} more ${groupWord === "class" ? "classes" : "labels"}`,
            ),
          ]
        : []),
      ...(rows.length ? [] : [h("li", { class: "rest" }, "none: everything is answered")]),
    );
  });
  onK(draw);
  return h(
    "figure",
    {},
    h(
      "figcaption",
      {},
      groupWord === "class" ? "Classes that go to a person " : "Labels that go to a person ",
      hasLabels && !grid && !meta.labels
        ? select(
            [
              ["truth", "by true class"],
              ["prediction", "by predicted class"],
            ],
            "truth",
            (value) => {
              byTruth = value === "truth";
              draw();
            },
          )
        : null,
    ),
    list,
  );
}

/** What the rule decides, and what a typed risk means. */
function about(): string {
  const rule = meta.labels
    ? "A label of a sample is answered when present and absent lie more than k spreads apart, else it goes to a " +
      "person. "
    : `A ${meta.sites ? "site" : "case"} is answered when the two best classes lie more than k spreads apart, else ` +
      "it goes to a person. ";
  const typed = meta.promise
    ? "A risk typed below gives the k that vargate decide --by k --target-risk promises with these samples as " +
      "--calibration, corrected for every k tried" +
      (meta.labels ? "; its unit is the sample. " : ". ") +
      "The bound of any other k holds if that k was fixed before these labels were seen."
    : meta.sites && hasLabels
      ? "A risk typed below gives the k that shows it among these sites; that is no promise, because the sites of an " +
        "image are not independent: vargate decide --calibration --target-risk promises with the image as its unit."
      : "";
  return (
    rule + typed + (grid ? ` k takes ${grid.length} values here, at which every one of the ${many} is counted.` : "")
  );
}

export function kControl(): HTMLElement {
  return section(
    "rule",
    "How sure is sure enough: k",
    about(),
    controls(),
    figures(),
    h("div", { class: "pair" }, position(), classes()),
  );
}

/** The k in the bar that stays in sight. */
export function kStatus(): HTMLElement {
  const text = h("span", { id: "k-status" });
  onK((k) => {
    const o = outcome(k);
    const risk = hasLabels ? ` \u00b7 risk ${percent(o.risk)}` : "";
    text.textContent = `k = ${k} \u00b7 answered ${percent(o.coverage, 1)}${risk}`;
  });
  return h("a", { href: "#rule", class: "status" }, text);
}
