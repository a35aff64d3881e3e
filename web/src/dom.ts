// Elements without innerHTML: names from the data are inserted as text and never parsed.
type Child = Node | string | number | null | undefined | false;
type Props = Record<string, unknown>;

function fill(element: Element, props: Props, children: Child[]): void {
  for (const [key, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value as EventListener);
    // The page's policy refuses the attribute.
    else if (key === "style") (element as HTMLElement).style.cssText = String(value);
    else element.setAttribute(key, value === true ? "" : String(value));
  }
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
}

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  props: Props = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  fill(element, props, children);
  return element;
}

export function svg(tag: string, props: Props = {}, ...children: Child[]): SVGElement {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag) as SVGElement;
  fill(element, props, children);
  return element;
}

/** A section of the page with its heading and a line of explanation. */
export function section(id: string, title: string, about: string, ...children: Child[]): HTMLElement {
  return h(
    "section",
    { id, "aria-labelledby": `${id}-title` },
    h("h2", { id: `${id}-title` }, title),
    about ? h("p", { class: "about" }, about) : null,
    ...children,
  );
}

let labels = 0;
/** A control with its label in front. */
export function labelled(text: string, control: HTMLElement): HTMLElement {
  control.id ||= `control-${++labels}`;
  return h("label", { class: "control", for: control.id }, h("span", {}, text), control);
}

export function select(options: [string, string][], value: string, change: (value: string) => void): HTMLSelectElement {
  const element = h(
    "select",
    { onchange: () => change(element.value) },
    ...options.map(([key, text]) => h("option", { value: key, selected: key === value }, text)),
  );
  return element;
}

/** A button that runs `show` and disappears. */
export function showAll(text: string, show: () => void): HTMLButtonElement {
  const button = h(
    "button",
    {
      type: "button",
      class: "quiet",
      onclick: () => {
        button.remove();
        show();
      },
    },
    text,
  );
  return button;
}

export function toggle(text: string, on: boolean, colour: string | null, change: (on: boolean) => void): HTMLElement {
  const box = h("input", { type: "checkbox", onchange: () => change(box.checked) });
  box.checked = on;
  const mark = colour ? h("i", { class: "swatch", style: `--swatch:${colour}` }) : null;
  return h("label", { class: "toggle" }, box, mark, h("span", {}, text));
}

/** Legends that are folded away are opened for paper where one of their curves is shown. */
export function printed(details: HTMLDetailsElement): HTMLDetailsElement {
  let folded = false;
  addEventListener("beforeprint", () => {
    folded = !details.open && details.querySelector("input:checked") !== null;
    details.open ||= folded;
  });
  addEventListener("afterprint", () => {
    if (folded) details.open = false;
    folded = false;
  });
  return details;
}

/** Calls `task` in the next frame, once, however often it is requested until then. */
export function perFrame(task: () => void): () => void {
  let due = false;
  return () => {
    if (due) return;
    due = true;
    requestAnimationFrame(() => {
      due = false;
      task();
    });
  };
}
