// The decision rule over every row: kept exactly when k < ratio. Counts for any k by binary search, so that they are
// the counts of `vargate decide -k`; the k for a target by one walk down the ratios. A page of very many rows has
// counts at a list of k instead, and k is one of them.
import { gridKept, groupCount, labelOf, labels, meta, predictions, ratio } from "./data";
import { niceBetween } from "./format";

export interface Outcome {
  k: number;
  kept: number;
  errors: number;
  coverage: number;
  risk: number;
  bound: number;
  caught: number;
}
export interface ClassCount {
  index: number;
  abstained: number;
  total: number;
}

const ratios = ratio();
const predicted = predictions();
const truth = labels();
export const hasLabels = truth !== null;
const grid = meta.grid;

function split(): { right: Float64Array; wrong: Float64Array } {
  if (grid) return { right: new Float64Array(0), wrong: new Float64Array(0) };
  let errors = 0;
  if (truth) for (let i = 0; i < meta.n; i++) errors += Number(truth[i] !== predicted[i]);
  const right = new Float64Array(meta.n - errors);
  const wrong = new Float64Array(errors);
  let r = 0;
  let w = 0;
  for (let i = 0; i < meta.n; i++) {
    if (truth && truth[i] !== predicted[i]) wrong[w++] = ratios[i];
    else right[r++] = ratios[i];
  }
  return { right: right.sort(), wrong: wrong.sort() };
}
const { right, wrong } = split();
export const totalErrors = grid ? grid.errors : wrong.length;

/** The number of the k of the grid that is nearest to `k`. */
export function gridIndex(k: number): number {
  const list = grid?.k ?? [];
  let low = 0;
  let high = list.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle] < k) low = middle + 1;
    else high = middle;
  }
  return low > 0 && k / list[low - 1] < list[low] / k ? low - 1 : low;
}

/** How many of rising values are > k. */
function above(values: Float64Array, k: number): number {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] > k) high = middle;
    else low = middle + 1;
  }
  return values.length - low;
}

/** log Gamma (Lanczos). */
function logGamma(x: number): number {
  const c = [
    76.18009172947146, -86.50532032941677, 24.01409824083091, -1.231739572450155, 0.1208650973866179e-2,
    -0.5395239384953e-5,
  ];
  let sum = 1.000000000190015;
  for (let j = 0; j < 6; j++) sum += c[j] / (x + 1 + j);
  return (x + 0.5) * Math.log(x + 5.5) - (x + 5.5) + Math.log((2.5066282746310005 * sum) / x);
}

/** Regularised incomplete beta function by its continued fraction. */
function betaCdf(x: number, a: number, b: number): number {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  if (x > (a + 1) / (a + b + 2)) return 1 - betaCdf(1 - x, b, a);
  let c = 1;
  let d = 1 / Math.max(1e-300, 1 - ((a + b) * x) / (a + 1));
  let sum = d;
  for (let m = 1; m < 500; m++) {
    let step = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / (1 + step * d);
    c = 1 + step / c;
    sum *= d * c;
    step = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / (1 + step * d);
    c = 1 + step / c;
    sum *= d * c;
    if (Math.abs(d * c - 1) < 1e-12) break;
  }
  const front = logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x);
  return (Math.exp(front) / a) * sum;
}

/** Clopper-Pearson upper bound of a proportion, 95 %. */
export function upperBound(errors: number, n: number): number {
  if (errors >= n) return 1;
  let low = 0;
  let high = 1;
  for (let i = 0; i < 60; i++) {
    const middle = (low + high) / 2;
    if (betaCdf(middle, errors + 1, n - errors) < 0.95) low = middle;
    else high = middle;
  }
  return high;
}

export function outcome(k: number): Outcome {
  const errors = grid ? grid.wrong[gridIndex(k)] : above(wrong, k);
  const kept = grid ? grid.kept[gridIndex(k)] : above(right, k) + errors;
  return {
    k,
    kept,
    errors,
    coverage: kept / meta.n,
    risk: kept ? errors / kept : NaN,
    bound: kept ? upperBound(errors, kept) : NaN,
    caught: totalErrors - errors,
  };
}

/** Walks thresholds from the most selective on: what is kept, and a k that keeps just that. */
function walk(visit: (kept: number, errors: number, k: () => number) => void): void {
  if (grid) {
    for (let i = grid.k.length - 1; i >= 0; i--) if (grid.kept[i]) visit(grid.kept[i], grid.wrong[i], () => grid.k[i]);
    return;
  }
  let r = right.length - 1;
  let w = wrong.length - 1;
  while (r >= 0 || w >= 0) {
    const value = Math.max(r >= 0 ? right[r] : -1, w >= 0 ? wrong[w] : -1);
    if (value <= 0) break;
    while (r >= 0 && right[r] === value) r--;
    while (w >= 0 && wrong[w] === value) w--;
    const errors = wrong.length - 1 - w;
    const next = Math.max(r >= 0 ? right[r] : 0, w >= 0 ? wrong[w] : 0, 0);
    visit(right.length - 1 - r + errors, errors, () => niceBetween(next, value));
  }
}

/** What can be promised at a target risk: the row of the largest listed target that is not above it, null when
 * there is none. */
export interface Answer {
  target: number;
  k: number | null;
  bound: number;
  needed: number;
  fewest: number;
}
export function forRisk(target: number): Answer | null {
  let found: Answer | null = null;
  for (const [listed, k, bound, needed, fewest] of meta.promise?.rows ?? []) {
    if (listed <= target * (1 + 1e-9)) found = { target: listed, k, bound, needed, fewest };
  }
  return found;
}

/** The k that answers most with at most the risk `target` among these very samples; null when none does. */
export function forObservedRisk(target: number): number | null {
  let best: number | null = null;
  walk((kept, errors, k) => {
    if (errors <= target * kept) best = k();
  });
  return best;
}

/** The largest k that keeps at least the share `target`; null when none keeps so many. */
export function forCoverage(target: number): number | null {
  const need = Math.ceil(target * meta.n - 1e-6);
  let best: number | null = null;
  walk((kept, _errors, k) => {
    if (best === null && kept >= need) best = k();
  });
  return best;
}

/** Points of the rule's own risk-coverage curve, at most `points`. */
export function curve(points: number): { coverage: number[]; risk: number[] } {
  const coverage: number[] = [];
  const risk: number[] = [];
  let last = 0;
  walk((kept, errors) => {
    if (kept / meta.n - last < 1 / points && kept !== meta.n) return;
    last = kept / meta.n;
    coverage.push(last);
    risk.push(errors / kept);
  });
  return { coverage, risk };
}

/** By true class, or predicted class, or in multilabel mode by label. Nothing where a grid has no groups. */
export function abstainedByGroup(k: number, byTruth: boolean): ClassCount[] {
  if (grid) {
    const kept = gridKept().subarray(gridIndex(k) * grid.groups);
    return grid.total.map((total, index) => ({ index, abstained: total - kept[index], total }));
  }
  const of = byTruth && truth ? truth : predicted;
  const abstained = new Uint32Array(groupCount);
  const total = new Uint32Array(groupCount);
  for (let i = 0; i < meta.n; i++) {
    const group = meta.labels ? labelOf(i) : of[i];
    total[group]++;
    if (!(ratios[i] > k)) abstained[group]++;
  }
  return Array.from(abstained, (n, index) => ({ index, abstained: n, total: total[index] }));
}

/** Of every sample the least ratio of its labels, rising; null outside multilabel mode. */
const least = ((): Float64Array | null => {
  if (!meta.labels || grid) return null;
  const out = new Float64Array(meta.n / meta.labels).fill(Infinity);
  for (let i = 0; i < meta.n; i++) {
    const sample = Math.floor(i / meta.labels);
    if (ratios[i] < out[sample]) out[sample] = ratios[i];
  }
  return out.sort();
})();
/** How many samples have every label answered; null where that is not known. */
export const wholeSamples = (k: number): number | null => (least ? above(least, k) : null);

/** Range of the slider: where decisions change. */
export function range(): [number, number] {
  const finite = (values: Float64Array, from: number, step: number): number => {
    for (let i = from; i >= 0 && i < values.length; i += step)
      if (values[i] > 0 && values[i] < Infinity) return values[i];
    return step > 0 ? Infinity : 0;
  };
  if (grid) {
    const last = grid.kept.findIndex((kept, i) => kept === grid.kept[grid.kept.length - 1] || i + 1 === grid.k.length);
    return [grid.k[0], Math.max(10, grid.k[last])];
  }
  const high = Math.max(finite(right, right.length - 1, -1), finite(wrong, wrong.length - 1, -1));
  return [0.01, Math.min(10000, Math.max(10, high))];
}

/** Of a row of the data: see `at`. */
export const isKept = (row: number, k: number): boolean => ratios[row] > k;
export const isWrong = (row: number): boolean => truth !== null && truth[row] !== predicted[row];

// --- the current k, which every section shows -----------------------------------------------------------------------
let current = meta.k[0] ?? 1;
let promise: Answer | null = null;
const listeners: ((k: number) => void)[] = [];
export const getK = (): number => current;
/** The promise the current k was chosen for, null when it was not. */
export const getPromise = (): Answer | null => promise;
export function setK(k: number, chosenFor: Answer | null = null): void {
  if (!(k > 0) || k === Infinity) return;
  current = grid ? grid.k[gridIndex(k)] : k;
  promise = chosenFor;
  for (const listener of listeners) listener(current);
}
export const onK = (listener: (k: number) => void): void => void listeners.push(listener);
