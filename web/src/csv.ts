// Cases as a CSV file (RFC 4180). A text that a spreadsheet would take for a formula gets an apostrophe in front.
import {
  agreement,
  at,
  className,
  groupName,
  labelOf,
  labels,
  measure,
  meta,
  ownerOf,
  predictions,
  ratio,
  sampleIds,
  samples,
  topMean,
  topStd,
} from "./data";
import { hasLabels, isKept } from "./rule";

function field(value: string | number): string {
  if (typeof value === "number") return String(value);
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
}

export function csvOf(rows: number[], k: number): string {
  const votes = agreement();
  const truth = labels();
  const head = [
    "sample",
    ...(sampleIds ? ["id"] : []),
    ...(meta.labels ? ["of_label", "of_label_name"] : []),
    ...(hasLabels ? ["label", "label_name"] : []),
    "pred",
    "pred_name",
    "k",
    "decision",
    "ratio",
    "mean",
    "std",
    ...(votes ? ["agree"] : []),
    ...meta.measures,
  ];
  const lines = [head.map(field).join(",")];
  for (const row of rows) {
    const number = samples()[row];
    const of = labelOf(number);
    const pred = predictions()[at(row)];
    const label = truth ? [truth[at(row)], className(truth[at(row)])] : [];
    const cells: (string | number)[] = [
      ownerOf(number),
      ...(sampleIds ? [sampleIds[row]] : []),
      ...(meta.labels ? [of, groupName(of)] : []),
      ...label,
      pred,
      className(pred),
      k,
      isKept(at(row), k) ? pred : -1,
      ratio()[at(row)],
      Number((topMean()[row * meta.top] / 65535).toPrecision(5)),
      Number((topStd()[row * meta.top] / 65535).toPrecision(5)),
      ...(votes ? [votes[row]] : []),
      ...meta.measures.map((name) => Number(measure(name)[row].toPrecision(7))),
    ];
    lines.push(cells.map(field).join(","));
  }
  return `${lines.join("\r\n")}\r\n`;
}

export function download(name: string, text: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
