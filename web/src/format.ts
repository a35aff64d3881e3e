// Numbers as people read them.
const missing = "\u2013";

export function percent(value: number | null | undefined, digits = 2): string {
  return value === null || value === undefined || Number.isNaN(value) ? missing : `${(100 * value).toFixed(digits)} %`;
}

export function figure(value: number | null | undefined, digits = 4): string {
  if (value === null || value === undefined || Number.isNaN(value)) return missing;
  if (value === Infinity) return "\u221e";
  if (value !== 0 && (Math.abs(value) < 1e-3 || Math.abs(value) >= 1e5))
    return value.toExponential(digits - 2).replace("e+", "e");
  return value === 0 ? "0" : value.toPrecision(digits);
}

/** A number that was chosen: no digits beyond its own. */
export const plain = (value: number): string => String(Number(value.toPrecision(6)));

/** "2026-11-16T19:05:00Z" -> "2026-11-16 19:05 UTC" */
export const date = (text: string): string => text.replace(/^(\d{4}-\d\d-\d\d)T(\d\d:\d\d).*Z$/, "$1 $2 UTC");

export const count = (value: number): string => value.toLocaleString("en-US");

/** The shortest decimal in [low, high), above 0. */
export function niceBetween(low: number, high: number): number {
  const middle = high === Infinity ? (low > 0 ? 2 * low : 1) : (low + high) / 2;
  for (let digits = 1; digits <= 17; digits++) {
    const value = Number(middle.toPrecision(digits));
    if (value >= low && value < high && value > 0) return value;
  }
  return low > 0 ? low : middle;
}
