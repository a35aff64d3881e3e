// A box for a number. What is typed stays text, so that "1,5" differs from an empty box; what cannot be used is
// explained beside the box, and the caller learns that there is no number, so that no answer to an earlier number stays
// on the page.
import { h } from "./dom";

export interface Limits {
  above?: number;
  least?: number;
  most?: number;
}

const form = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

/** The number in a text, or what is wrong with it. */
export function readNumber(text: string, limits: Limits): number | string {
  const typed = text.trim();
  if (/^[+-]?\d*,\d+$/.test(typed)) return `write ${typed.replace(",", ".")}, with a point`;
  if (!form.test(typed)) return "not a number";
  const value = Number(typed);
  if (!Number.isFinite(value)) return "not a number that can be used";
  if (limits.above !== undefined && !(value > limits.above)) return `must be above ${limits.above}`;
  if (limits.least !== undefined && value < limits.least) return `must be at least ${limits.least}`;
  if (limits.most !== undefined && value > limits.most) return `must be at most ${limits.most}`;
  return value;
}

export interface Entry {
  box: HTMLInputElement;
  host: HTMLElement;
  show(text: string): void;
  /** As if it was typed. */
  type(text: string): void;
}

/** `use` is called with each number, and with null for an empty box (`wrong` false) or for one that cannot be used. */
export function entry(
  id: string,
  label: string,
  placeholder: string,
  limits: Limits,
  event: "input" | "change",
  use: (value: number | null, wrong: boolean) => void,
): Entry {
  const box = h("input", {
    type: "text",
    id,
    class: "number",
    inputmode: "decimal",
    autocomplete: "off",
    placeholder,
    "aria-describedby": `${id}-problem`,
  });
  const problem = h("span", { class: "problem", id: `${id}-problem`, role: "alert" });
  const complain = (text: string): void => {
    problem.textContent = text;
    if (text) box.setAttribute("aria-invalid", "true");
    else box.removeAttribute("aria-invalid");
  };
  box.addEventListener(event, () => {
    const found = box.value.trim() === "" ? null : readNumber(box.value, limits);
    complain(typeof found === "string" ? found : "");
    use(typeof found === "number" ? found : null, typeof found === "string");
  });
  const show = (text: string): void => {
    box.value = text;
    complain("");
  };
  const type = (text: string): void => {
    box.value = text;
    box.dispatchEvent(new Event(event));
  };
  return { box, show, type, host: h("span", { class: "control" }, h("label", { for: id }, label), box, problem) };
}
