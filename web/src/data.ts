// The data inside the page: JSON of figures, and typed arrays in base64, decoded on first use.
export interface Bin {
  low: number;
  high: number;
  count: number;
  confidence: number | null;
  accuracy: number | null;
}
export interface Ranking {
  aurc: number;
  eaurc: number;
  augrc: number;
  error_auroc: number | null;
  error_aupr: number | null;
  risk_at_coverage: (number | null)[];
  coverage_at_risk: (number | null)[];
  curve?: number[];
}
export interface Evaluation {
  accuracy: number;
  f1_macro: number;
  ece: number;
  ece_adaptive: number;
  ece_classwise: number;
  mce: number;
  nll: number;
  brier: number;
  f1_micro: number | null;
  subset_accuracy: number | null;
  miou: number | null;
  ece_expected: number | null;
  ece_p_value: number | null;
  ece_debiased: number | null;
  notes: string[];
  reliability: Bin[];
  coverages?: number[];
  risks?: number[];
  measures?: Record<string, Ranking>;
}
export interface OodMeasure {
  auroc: number | null;
  aupr_out: number | null;
  aupr_in: number | null;
  fpr95: number | null;
  detection_error: number | null;
  low: number;
  high: number;
  id: number[];
  ood: number[];
  fpr: number[];
  tpr: number[];
}
export interface OodSet {
  name: string;
  n: number;
  measures: Record<string, OodMeasure>;
}
export interface Training {
  collapse: number | null;
  epoch: number[];
  train_loss: (number | null)[];
  val_loss: (number | null)[];
  val_accuracy: (number | null)[];
  val_ece: (number | null)[];
  diversity: (number | null)[];
  k_sensitivity: (number | null)[];
  train_accuracy?: (number | null)[];
  /** The k of the gate that was trained: of every class, or of many the least, the middle and the largest. */
  k?: { names: string[]; lines: (number | null)[][] } | null;
}
/** What the library can promise on these samples. Rows: target risk, k or null, bound, samples it would take,
 * fewest without error. */
export interface Promised {
  confidence: number;
  tested: number;
  set_aside: number;
  rows: [number, number | null, number, number, number][];
}
/** The decision rule at a list of k, of pages whose rows are too many to hold the ratio of each. A group is a true
 * class (without labels: a predicted one) or a label. */
export interface Grid {
  groups: number;
  errors: number;
  k: number[];
  kept: number[];
  wrong: number[];
  total: number[];
  support: number[];
  predicted: number[];
  found: number[];
}
/** Images whose sites are the rows: N, H, W, D of all, and what the page holds of some; number and sites of each. */
export interface Sites {
  shape: [number, number, number, number];
  ignored: number;
  stride: number;
  height: number;
  width: number;
  channels: number;
  measure: string | null;
  low: number;
  high: number;
  images: [number, number][];
}
export interface Finding {
  about: string;
  verdict: string;
  choice: string;
  text: string;
}
/** A row of the library's table of measures; gated and certainty are 0 or 1. */
export interface MeasureInfo {
  name: string;
  symbol: string;
  meaning: string;
  gated: number;
  certainty: number;
}
export interface Meta {
  version: string;
  title: string | null;
  dataset: string | null;
  ensemble: string | null;
  source: string | null;
  note: string | null;
  created: string | null;
  command: string | null;
  decide: string | null;
  policy: string | null;
  n: number;
  m: number;
  c: number;
  /** Labels of a sample in multilabel mode, where a row is a label of a sample; else 0. */
  labels: number;
  class_names: string[] | null;
  label_names: string[] | null;
  k: number[];
  measures: string[];
  measure_table: MeasureInfo[];
  diversity: number | null;
  k_sensitivity: number | null;
  verdict: string | null;
  verdict_text: string | null;
  rows: number;
  top: number;
  wide: number;
  is_calibrated: number;
  evaluation: Evaluation | null;
  other: Evaluation | null;
  training: Training | null;
  ood: OodSet[];
  promise: Promised | null;
  grid: Grid | null;
  sites: Sites | null;
  advice: string | null;
  findings: Finding[];
  sets: string | null;
  sets_from: string | null;
  channels: number;
  height: number;
  width: number;
}

function text(id: string): string | null {
  const element = document.getElementById(`vg-${id}`);
  return element ? element.textContent : null;
}

function bytes(id: string): Uint8Array | null {
  const encoded = text(id);
  if (encoded === null) return null;
  const binary = atob(encoded);
  const out = new Uint8Array(binary.length);
  for (let i = 0; i < out.length; i++) out[i] = binary.charCodeAt(i);
  document.getElementById(`vg-${id}`)?.remove(); // the text is not needed after decoding
  return out;
}

export const meta: Meta = JSON.parse(text("meta") ?? "{}");

const kept = new Map<string, unknown>();
function once<T>(id: string, make: (raw: Uint8Array) => T): T | null {
  if (!kept.has(id)) {
    const raw = bytes(id);
    kept.set(id, raw ? make(raw) : null);
  }
  return kept.get(id) as T | null;
}

const f32 = (raw: Uint8Array) => new Float32Array(raw.buffer);
const u16 = (raw: Uint8Array) => new Uint16Array(raw.buffer);
const u32 = (raw: Uint8Array) => new Uint32Array(raw.buffer);
const classes = (raw: Uint8Array): Uint16Array | Uint32Array => (meta.wide ? u32(raw) : u16(raw));

/** Of every row, or, where the page has a grid, of those held in the page: `at` finds a row of the page in them. */
export const ratio = (): Float64Array => once("ratio", (raw) => new Float64Array(raw.buffer)) ?? new Float64Array(0);
export const predictions = (): Uint16Array | Uint32Array => once("pred", classes) ?? new Uint16Array(0);
export const labels = (): Uint16Array | Uint32Array | null => once("label", classes);

export const at = (row: number): number => (meta.grid ? row : samples()[row]);

/** Of the samples held in the page (rows): their indices, whether they belong to the random sample, measures. */
export const samples = (): Uint32Array => once("sample", u32) ?? new Uint32Array(0);
/** Names of the samples held in the page, null where they have none. */
export const sampleIds: string[] | null = JSON.parse(text("ids") ?? "null");
export const plotted = (): Uint8Array => once("plotted", (raw) => raw) ?? new Uint8Array(0);
export const measure = (name: string): Float32Array => once(name, f32) ?? new Float32Array(0);
export const topClass = (): Uint16Array | Uint32Array => once("topclass", classes) ?? new Uint16Array(0);
export const topMean = (): Uint16Array => once("topmean", u16) ?? new Uint16Array(0);
export const topStd = (): Uint16Array => once("topstd", u16) ?? new Uint16Array(0);
export const topVotes = (): Uint16Array | null => once("topvotes", u16);
export const agreement = (): Uint32Array | null => once("agree", u32);
export const oodPoints = (set: number, name: string): Float32Array =>
  once(`ood${set}-${name}`, f32) ?? new Float32Array(0);

/** Counts of the grid, k by k: what is kept of each group, and what of it is wrong. */
export const gridKept = (): Uint32Array => once("gridkept", u32) ?? new Uint32Array(0);
export const gridWrong = (): Uint32Array => once("gridwrong", u32) ?? new Uint32Array(0);
/** Sites of the images in the page, and for every k how many sites of each whole image are abstained from. */
const siteClasses = (raw: Uint8Array): Uint8Array | Uint16Array => (meta.c > 256 ? u16(raw) : raw);
export const sitePred = (): Uint8Array | Uint16Array => once("sitepred", siteClasses) ?? new Uint8Array(0);
export const siteLabel = (): Uint8Array | Uint16Array | null => once("sitelabel", siteClasses);
export const siteSteps = (): Uint16Array => once("sitesteps", u16) ?? new Uint16Array(0);
export const siteLevel = (): Uint8Array => once("sitelevel", (raw) => raw) ?? new Uint8Array(0);
export const sitePhoto = (): Uint8Array | null => once("sitephoto", (raw) => raw);
export const siteAbstained = (): Uint32Array => once("siteabstained", u32) ?? new Uint32Array(0);

const imageRows = (): Map<number, number> =>
  once("imagerows", (raw) => new Map(Array.from(u32(raw), (row, at) => [row, at] as [number, number]))) ?? new Map();
const pixels = (): Uint8Array | null => once("images", (raw) => raw);

/** The image of a row on a canvas of its own, or null. */
export function image(row: number): HTMLCanvasElement | null {
  const at = meta.channels ? imageRows().get(row) : undefined;
  const all = pixels();
  if (at === undefined || !all) return null;
  const { channels, height, width } = meta;
  const plane = height * width;
  const start = at * channels * plane;
  const canvas = document.createElement("canvas");
  canvas.width = width;
  canvas.height = height;
  const context = canvas.getContext("2d");
  if (!context) return null;
  const out = context.createImageData(width, height);
  for (let i = 0; i < plane; i++) {
    for (let c = 0; c < 3; c++) out.data[4 * i + c] = all[start + (channels === 3 ? c * plane : 0) + i];
    out.data[4 * i + 3] = 255;
  }
  context.putImageData(out, 0, 0);
  return canvas;
}

export const className = (c: number): string => meta.class_names?.[c] ?? String(c);
/** What the rule decides about, and what rows are grouped by. */
export const many = meta.sites ? "sites" : meta.labels ? "labels" : "cases";
export const groupWord = meta.labels ? "label" : "class";
export const groupCount = meta.labels || meta.c;
export const groupName = (g: number): string => (meta.labels ? (meta.label_names?.[g] ?? String(g)) : className(g));
/** The sample that row number `row` of all belongs to, and which of its labels it is. */
export const ownerOf = (row: number): number => (meta.labels ? Math.floor(row / meta.labels) : row);
export const labelOf = (row: number): number => (meta.labels ? row % meta.labels : 0);
/** Some samples are in the plots only as a share of all. */
export const isSampled = meta.rows < meta.n;
/** The table's row of "tu" or "gtu@2". */
export const measureInfo = (name: string): MeasureInfo | undefined =>
  meta.measure_table.find((row) => row.name === name.split("@")[0]);
/** Whether larger values are more certain. */
export const isCertainty = (name: string): boolean => measureInfo(name)?.certainty === 1;
/** "gtu@1" -> "GTU, k = 1" */
export function measureName(name: string): string {
  const k = name.split("@")[1];
  const symbol = measureInfo(name)?.symbol ?? name;
  return k === undefined ? symbol : `${symbol}, k = ${k}`;
}
export const hasMeasure = (name: string): boolean => meta.measures.includes(name);
