// What `vargate evaluate` advises: which measure, which k and which calibrator these data support, and why.
import { meta } from "./data";
import { h, section } from "./dom";

const heads: Record<string, string> = {
  diversity: "The ensemble",
  calibration: "Calibration",
  measure: "Which measure",
  k: "Which k",
  abstaining: "Abstaining",
  calibrator: "Which calibrator",
};
/** What a verdict says about an advice; empty where it chooses nothing. */
const firmness: Record<string, string> = {
  clear: "clear",
  noise: "within noise",
  "few-errors": "too few errors to tell",
};

export function advice(): HTMLElement | null {
  if (!meta.advice) return null;
  const rows = meta.findings.map((finding) => {
    const firm = finding.choice ? (firmness[finding.verdict] ?? "") : "";
    return [
      h(
        "dt",
        {},
        heads[finding.about] ?? finding.about,
        finding.choice ? h("strong", { class: "choice" }, finding.choice) : null,
        firm ? h("span", { class: `tag ${finding.verdict === "clear" ? "kept" : "out"}` }, firm) : null,
      ),
      h("dd", {}, finding.text),
    ];
  });
  return section(
    "advice",
    "What to use",
    "What these data support, as vargate evaluate finds it: differences are tested in pairs, and one that may be " +
      "noise is called that.",
    h("p", { class: "sentence", id: "advice-text" }, meta.advice),
    h("dl", { class: "findings" }, ...rows.flat()),
  );
}
