// Images whose sites are decided one by one: the predicted classes over the image, with what the rule abstains from at
// the chosen k laid over, beside the uncertainty. Counts under an image are of all its sites, also where the page holds
// only some.
import {
  className,
  isCertainty,
  measureName,
  meta,
  siteAbstained,
  siteLabel,
  siteLevel,
  sitePhoto,
  sitePred,
  siteSteps,
} from "./data";
import { h, labelled, perFrame, section, select, showAll, toggle } from "./dom";
import { count, figure, percent } from "./format";
import { getK, gridIndex, onK } from "./rule";

type Colour = [number, number, number];
const LEFT_OUT = 65535;
const GREY: Colour = [150, 150, 150];
const DARK: Colour = [20, 20, 20];
const FIRST = 8;
const VIRIDIS: Colour[] = [
  [68, 1, 84],
  [72, 40, 120],
  [62, 74, 137],
  [49, 104, 142],
  [38, 130, 142],
  [31, 158, 137],
  [53, 183, 121],
  [110, 206, 88],
  [181, 222, 43],
  [253, 231, 37],
];
const CLASSES: Colour[] = [
  [78, 121, 167],
  [242, 142, 43],
  [225, 87, 89],
  [118, 183, 178],
  [89, 161, 79],
  [237, 201, 72],
  [176, 122, 161],
  [255, 157, 167],
  [156, 117, 95],
  [186, 176, 172],
];

function ofShare(share: number): Colour {
  const place = share * (VIRIDIS.length - 1);
  const i = Math.min(Math.floor(place), VIRIDIS.length - 2);
  return VIRIDIS[i].map((v, c) => Math.round(v + (place - i) * (VIRIDIS[i + 1][c] - v))) as Colour;
}
/** The colours of the pictures that `vargate score --maps` writes. */
function ofClass(c: number): Colour {
  if (c < CLASSES.length) return CLASSES[c];
  const at = c - CLASSES.length;
  const hue = (at * 6 * 0.381966 + 0.36) % 6;
  const [saturation, value] = at % 2 ? [1, 1] : [0.95, 0.6];
  return [5, 3, 1].map((n) => {
    const k = (n + hue) % 6;
    return Math.round(255 * value * (1 - saturation * Math.max(0, Math.min(k, 4 - k, 1))));
  }) as Colour;
}
const mixed = (a: Colour, b: Colour, share: number): Colour => a.map((v, i) => v + share * (b[i] - v)) as Colour;

interface Shown {
  slot: number;
  number: number;
  sites: number;
  abstained: number;
  caption: HTMLElement;
  left: HTMLCanvasElement;
  right: HTMLCanvasElement;
  figure: HTMLElement;
}

export function maps(): HTMLElement | null {
  const s = meta.sites;
  if (!s || !s.images.length) return null;
  const plane = s.height * s.width;
  const pred = sitePred();
  const truth = siteLabel();
  const steps = siteSteps();
  const level = siteLevel();
  const photo = sitePhoto();
  const abstained = siteAbstained();
  const shades = Array.from({ length: 255 }, (_, i) => ofShare(i / 254));
  const state = { layer: "pred", overlay: true, share: photo ? 50 : 100 };

  const photoAt = (slot: number, i: number): Colour => {
    if (!photo) return GREY;
    const from = slot * s.channels * plane + i;
    return s.channels === 3
      ? [photo[from], photo[from + plane], photo[from + 2 * plane]]
      : [photo[from], photo[from], photo[from]];
  };
  /** Pixels of a site in each direction: several in small images, so that every site has a whole chequer. */
  const zoom = Math.max(1, Math.round(192 / s.width));
  const width = s.width * zoom;
  const paint = (canvas: HTMLCanvasElement, colour: (i: number, x: number, y: number) => Colour): void => {
    const context = canvas.getContext("2d");
    if (!context) return;
    const picture = context.createImageData(width, s.height * zoom);
    for (let at = 0; at < picture.data.length / 4; at++) {
      const x = at % width;
      const y = Math.floor(at / width);
      const [r, g, b] = colour(Math.floor(y / zoom) * s.width + Math.floor(x / zoom), x, y);
      picture.data[4 * at] = r;
      picture.data[4 * at + 1] = g;
      picture.data[4 * at + 2] = b;
      picture.data[4 * at + 3] = 255;
    }
    context.putImageData(picture, 0, 0);
  };
  /** A coarse chequer, which stays visible over every colour and on paper. */
  const size = Math.max(1, Math.round(width / 96));
  const isDark = (x: number, y: number): boolean => (Math.floor(x / size) + Math.floor(y / size)) % 2 === 1;
  const layer = (slot: number, i: number): Colour | null => {
    const at = slot * plane + i;
    if (state.layer === "photo") return null;
    if (state.layer === "truth") return truth ? ofClass(truth[at]) : null;
    if (state.layer === "errors") return truth && truth[at] !== pred[at] ? [213, 94, 0] : null;
    return ofClass(pred[at]);
  };
  const drawLeft = (image: Shown): void => {
    const step = gridIndex(getK());
    const base = image.slot * plane;
    paint(image.left, (i, x, y) => {
      if (steps[base + i] === LEFT_OUT) return GREY;
      const over = layer(image.slot, i);
      const under: Colour = photo ? photoAt(image.slot, i) : [235, 235, 235];
      const colour = over ? mixed(under, over, photo ? state.share / 100 : 1) : under;
      return state.overlay && steps[base + i] <= step ? (isDark(x, y) ? DARK : mixed(colour, DARK, 0.5)) : colour;
    });
  };
  const drawRight = (image: Shown): void =>
    paint(image.right, (i) => (level[image.slot * plane + i] === 255 ? GREY : shades[level[image.slot * plane + i]]));

  const picture = (what: string, number: number): HTMLCanvasElement =>
    h("canvas", { width, height: s.height * zoom, role: "img", "aria-label": `${what} of image ${number}` });
  const images: Shown[] = s.images.map(([number, sites], slot) => {
    const caption = h("figcaption", {});
    const left = picture("classes", number);
    const right = picture("uncertainty", number);
    const host = h("figure", { class: "map" }, caption, h("div", { class: "map-pair" }, left, right));
    return { slot, number, sites, abstained: 0, caption, left, right, figure: host };
  });
  const deck = h("div", { class: "maps", id: "maps-deck" });
  let visible = false;
  let all = images.length <= FIRST;
  const draw = perFrame(() => {
    const step = gridIndex(getK());
    const ks = meta.grid?.k.length ?? 0;
    for (const image of images) {
      image.abstained = abstained[image.slot * ks + step];
      image.caption.textContent =
        `Image ${image.number}: ${percent(image.sites ? image.abstained / image.sites : NaN)} of ` +
        `${count(image.sites)} sites go to a person`;
    }
    const share = (image: Shown): number => (image.sites ? image.abstained / image.sites : -1);
    images.sort((a, b) => share(b) - share(a) || a.number - b.number);
    const shown = images.slice(0, all ? images.length : FIRST);
    deck.replaceChildren(...shown.map((image) => image.figure));
    if (visible) shown.forEach(drawLeft);
  });
  const show = (): void => {
    if (visible) return;
    visible = true;
    images.forEach(drawRight);
    draw();
  };
  onK(draw);
  new IntersectionObserver(
    (entries, observer) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      observer.disconnect();
      show();
    },
    { rootMargin: "600px" },
  ).observe(deck);
  addEventListener("beforeprint", () => {
    show();
    images.slice(0, all ? images.length : FIRST).forEach(drawLeft);
  });

  const swatch = (colour: Colour, text: string): HTMLElement => {
    const box = h("i", { class: "swatch box" });
    box.style.setProperty("--swatch", `rgb(${colour.join(",")})`);
    return h("span", {}, box, text);
  };
  const seen = new Set<number>();
  for (let i = 0; i < pred.length; i++)
    if (steps[i] !== LEFT_OUT) {
      seen.add(pred[i]);
      if (truth) seen.add(truth[i]);
    }
  const scale = h("canvas", { width: 100, height: 1, class: "scale", "aria-hidden": "true" });
  const bar = scale.getContext("2d");
  for (let x = 0; bar && x < 100; x++) {
    bar.fillStyle = `rgb(${ofShare(x / 99).join(",")})`;
    bar.fillRect(x, 0, 1, 1);
  }
  const layers: [string, string][] = [
    ["pred", "predicted classes"],
    ...(truth
      ? ([
          ["truth", "true classes"],
          ["errors", "errors"],
        ] as [string, string][])
      : []),
    ...(photo ? ([["photo", "the image alone"]] as [string, string][]) : []),
  ];
  const strength = h("input", {
    type: "range",
    min: 0,
    max: 100,
    value: state.share,
    id: "map-share",
    oninput: () => {
      state.share = Number(strength.value);
      draw();
    },
  });
  const chosen = select(layers, state.layer, (value) => {
    state.layer = value;
    draw();
  });
  chosen.id = "map-layer";
  const where = s.shape[3] > 1 ? `; of each volume slice ${Math.floor(s.shape[3] / 2)} of ${s.shape[3]} is shown` : "";
  const thinned = s.stride > 1 ? `; one of ${s.stride} rows and columns is drawn, all sites are counted` : "";
  return section(
    "maps",
    "Image by image",
    `${images.length} of ${count(s.shape[0])} images of ${s.shape[1]} x ${s.shape[2]} sites: those of which the rule ` +
      `abstains from most come first${where}${thinned}. Left what was predicted, right ${
        s.measure ? measureName(s.measure) : "uncertainty"
      }.`,
    h(
      "div",
      { class: "row" },
      labelled("Show", chosen),
      photo ? labelled("Strength over the image", strength) : null,
      toggle("lay what goes to a person over", true, null, (on) => {
        state.overlay = on;
        draw();
      }),
    ),
    h(
      "p",
      { class: "legend", id: "maps-legend" },
      swatch(DARK, "to a person"),
      s.ignored ? swatch(GREY, "left out") : null,
      ...[...seen]
        .sort((a, b) => a - b)
        .slice(0, 40)
        .map((c) => swatch(ofClass(c), className(c))),
      seen.size > 40 ? h("span", {}, `and ${seen.size - 40} more`) : null,
      s.measure
        ? h(
            "span",
            {},
            `${measureName(s.measure)} ${figure(s.low, 3)}`,
            scale,
            `${figure(s.high, 3)}${isCertainty(s.measure) ? " (larger is more certain)" : ""}`,
          )
        : null,
    ),
    deck,
    all
      ? null
      : showAll(`Show all ${images.length} images`, () => {
          all = true;
          draw();
        }),
  );
}
