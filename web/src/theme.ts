// Colours: Okabe and Ito's, which colour-blind readers can distinguish, in a light and a dark form.
import { meta } from "./data";

const listeners: (() => void)[] = [];
export const onTheme = (listener: () => void): void => void listeners.push(listener);

const media = matchMedia("(prefers-color-scheme: dark)");
export const isDark = (): boolean => {
  const set = document.documentElement.dataset.theme;
  return set ? set === "dark" : media.matches;
};
media.addEventListener("change", () => listeners.forEach((f) => f()));

export function switchTheme(): void {
  document.documentElement.dataset.theme = isDark() ? "light" : "dark";
  listeners.forEach((f) => f());
}

/** Paper is white: plots are drawn in the light form for it, whatever the screen shows. */
let onScreen: string | null = null;
addEventListener("beforeprint", () => {
  if (!isDark()) return;
  onScreen = document.documentElement.dataset.theme ?? "";
  document.documentElement.dataset.theme = "light";
  listeners.forEach((f) => f());
});
addEventListener("afterprint", () => {
  if (onScreen === null) return;
  if (onScreen) document.documentElement.dataset.theme = onScreen;
  else delete document.documentElement.dataset.theme;
  onScreen = null;
  listeners.forEach((f) => f());
});

export const css = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const ungated = meta.measure_table.filter((row) => !row.gated).map((row) => row.name);
/** The CSS variable of a measure's colour; a gated measure has the colour of its ungated form. */
function variable(name: string): string {
  const stem = name.split("@")[0];
  const index = ungated.indexOf(stem);
  return `--c${index >= 0 ? index : ungated.indexOf(stem.replace(/^g/, ""))}`;
}
export const measureColour = (name: string): string => css(variable(name));
/** The same as a reference to the variable, which follows the theme by itself. */
export const measureVariable = (name: string): string => `var(${variable(name)})`;
