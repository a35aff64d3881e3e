// Inputs of the browser tests, made here so that they need nothing but what ships: invented members over real digits,
// and many invented samples in an .npy.
import { readFileSync, writeFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";

/** A small generator with a seed (mulberry32). */
export function generator(seed) {
  let a = seed;
  return () => {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

export function digitLabels() {
  const raw = gunzipSync(readFileSync("data/digits/t10k-labels-idx1-ubyte.gz"));
  return Array.from(raw.subarray(8));
}

/** Members' probabilities of one sample whose true class is `label`: sometimes sure, sometimes undecided, sometimes
 * wrong. */
function members(random, label, M, C, ood) {
  if (random() < 0.04) label = (label + 3) % C; // sure, and wrong
  const hard = ood ? 0.6 + 0.4 * random() : random() ** 4;
  const other = Math.floor(random() * C);
  const bias = hard * 5 * random();
  return Array.from({ length: M }, () => {
    const z = Array.from(
      { length: C },
      (_, c) =>
        (ood ? 0 : 5 * (c === label)) +
        bias * (c === other) +
        (0.2 + 2.5 * hard) * (random() + random() + random() - 1.5),
    );
    const most = Math.max(...z);
    const e = z.map((v) => Math.exp(v - most));
    const sum = e.reduce((x, y) => x + y, 0);
    return e.map((v) => v / sum);
  });
}

/** Predictions as JSON lines, with labels. */
export function writeLines(path, labels, M, C, seed, ood = false) {
  const random = generator(seed);
  const lines = labels.map((label) => {
    const p = members(random, label, M, C, ood).map((row) => row.map((v) => Number(v.toPrecision(8))));
    return JSON.stringify(ood ? { p } : { p, label });
  });
  writeFileSync(path, `${lines.join("\n")}\n`);
}

export function npy(descr, shape, bytes) {
  const sizes = shape.join(", ") + (shape.length === 1 ? "," : "");
  let head = `{'descr': '${descr}', 'fortran_order': False, 'shape': (${sizes}), }`;
  head = head.padEnd(117, " ") + "\n";
  return Buffer.concat([
    Buffer.from("\x93NUMPY\x01\x00", "latin1"),
    Buffer.from([118, 0]),
    Buffer.from(head, "latin1"),
    bytes,
  ]);
}

/** N samples of two members over three classes: PRED.npy and LABELS.npy. */
export function writeMany(predictions, labels, N, seed) {
  const random = generator(seed);
  const p = new Float32Array(N * 6);
  const y = new Int32Array(N);
  for (let n = 0; n < N; n++) {
    y[n] = Math.floor(3 * random());
    const shift = 2 * random() ** 3;
    for (let m = 0; m < 2; m++) {
      const z = [0, 1, 2].map((c) => Math.exp(2.5 * (c === y[n]) + 2 * shift * (random() - 0.5) + 2 * random()));
      const sum = z[0] + z[1] + z[2];
      for (let c = 0; c < 3; c++) p[6 * n + 3 * m + c] = z[c] / sum;
    }
  }
  writeFileSync(predictions, npy("<f4", [N, 2, 3], Buffer.from(p.buffer)));
  writeFileSync(labels, npy("<i4", [N], Buffer.from(y.buffer)));
}

/** metrics.jsonl of a training whose diversity collapses at epoch 6. */
export function writeMetrics(path) {
  const lines = Array.from({ length: 12 }, (_, i) =>
    JSON.stringify({
      epoch: i + 1,
      train_loss: 2 * 0.7 ** i,
      val_loss: 0.1 + 2 * 0.75 ** i,
      val_accuracy: 1 - 0.9 * 0.6 ** i,
      val_ece: 0.02,
      diversity: 1e-3 * 0.4 ** i,
      k_sensitivity: 0.3,
      lr: 1e-3,
      images_per_s: 100,
      collapsed: i >= 5,
    }),
  );
  writeFileSync(path, `${lines.join("\n")}\n`);
}
