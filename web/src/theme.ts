// Colours: Okabe and Ito's, which colour-blind eyes tell apart, in a light and a dark form.
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

const order: Record<string, number> = { tu: 0, au: 1, eu: 2, epce: 3, epkl: 4, epjs: 5, gmu: 6, snr: 7 };
/** Colour of a measure; a gated one has its plain form's. */
export function measureColour(name: string): string {
  const stem = name.split("@")[0];
  const index = order[stem] ?? order[stem.replace(/^g/, "")] ?? 7;
  return css(`--c${index}`);
}
/** The same as a reference to the variable, which follows the theme by itself. */
export function measureVariable(name: string): string {
  const stem = name.split("@")[0];
  return `var(--c${order[stem] ?? order[stem.replace(/^g/, "")] ?? 7})`;
}
