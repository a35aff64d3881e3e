// Epistemic against aleatoric: GEU over GAU, coloured by right, wrong, abstained, out of distribution.
import uPlot from "uplot";
import { Chart } from "./chart";
import { at, hasMeasure, many, measure, meta, oodPoints, plotted } from "./data";
import { h, labelled, perFrame, section, select, toggle } from "./dom";
import { getK, hasLabels, isKept, isWrong, onK } from "./rule";
import { css } from "./theme";

const FLOOR = 1e-7;
const MAX_POINTS = 6000;

interface Kind {
  name: string;
  colour: string;
  shape: "circle" | "cross" | "square" | "triangle";
}
const kinds: Kind[] = [
  { name: hasLabels ? "right" : "answered", colour: "--c2", shape: "circle" },
  { name: "abstained", colour: "--c1", shape: "square" },
  { name: "wrong", colour: "--c4", shape: "cross" },
  { name: "out of distribution", colour: "--c5", shape: "triangle" },
];

function drawPoint(c: CanvasRenderingContext2D, shape: Kind["shape"], x: number, y: number, r: number): void {
  c.beginPath();
  if (shape === "circle") c.arc(x, y, r, 0, 2 * Math.PI);
  else if (shape === "square") c.rect(x - r, y - r, 2 * r, 2 * r);
  else if (shape === "triangle") {
    c.moveTo(x, y - 1.3 * r);
    c.lineTo(x + 1.2 * r, y + r);
    c.lineTo(x - 1.2 * r, y + r);
    c.closePath();
  } else {
    c.moveTo(x - r, y - r);
    c.lineTo(x + r, y + r);
    c.moveTo(x + r, y - r);
    c.lineTo(x - r, y + r);
    c.stroke();
    return;
  }
  c.fill();
}

export function scatter(): HTMLElement | null {
  const settings = meta.k.map(String).filter((k) => hasMeasure(`gau@${k}`) && hasMeasure(`geu@${k}`));
  if (!settings.length) return null;
  const all = Array.from(plotted().keys()).filter((row) => plotted()[row]);
  const stride = Math.max(1, Math.ceil(all.length / MAX_POINTS));
  const rows = all.filter((_, i) => i % stride === 0);
  let k = settings[0];
  const on = new Set(kinds.map((kind) => kind.name));
  const kindOf = (row: number): number => {
    return !isKept(at(row), getK()) ? 1 : isWrong(at(row)) ? 2 : 0;
  };
  const chart = new Chart("Epistemic uncertainty GEU against aleatoric uncertainty GAU", 400, () => {
    const gau = measure(`gau@${k}`);
    const geu = measure(`geu@${k}`);
    const clamp = (v: number): number => Math.max(FLOOR, v);
    let top = FLOOR * 10;
    let right = FLOOR * 10;
    let least = 1;
    for (const row of rows) {
      right = Math.max(right, gau[row]);
      top = Math.max(top, geu[row]);
      least = Math.min(least, clamp(geu[row]));
    }
    meta.ood.forEach((_, s) => {
      for (const v of oodPoints(s, `gau@${k}`)) right = Math.max(right, v);
      for (const v of oodPoints(s, `geu@${k}`)) top = Math.max(top, v);
    });
    const draw = (u: uPlot): void => {
      const c = u.ctx;
      const scale = devicePixelRatio;
      c.save();
      c.beginPath();
      c.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
      c.clip();
      c.lineWidth = 1.5 * scale;
      const put = (kind: number, x: number, y: number): void =>
        drawPoint(c, kinds[kind].shape, u.valToPos(clamp(x), "x", true), u.valToPos(clamp(y), "y", true), 2.3 * scale);
      kinds.forEach((kind, index) => {
        if (!on.has(kind.name)) return;
        c.fillStyle = c.strokeStyle = css(kind.colour);
        c.globalAlpha = index === 0 ? 0.45 : 0.75;
        if (index === 3)
          meta.ood.forEach((_, s) => {
            const x = oodPoints(s, `gau@${k}`);
            const y = oodPoints(s, `geu@${k}`);
            for (let i = 0; i < x.length; i++) put(3, x[i], y[i]);
          });
        else for (const row of rows) if (kindOf(row) === index) put(index, gau[row], geu[row]);
      });
      c.restore();
    };
    const smallest = Math.min(...rows.map((row) => clamp(gau[row])));
    return {
      data: [
        [smallest, right],
        [least, top],
      ] as uPlot.AlignedData,
      series: [{ paths: () => null, points: { show: false } }],
      x: { label: "aleatoric: GAU", log: true, range: [smallest, right * 1.2] },
      y: { label: "epistemic: GEU", log: true, range: [least, top * 1.5], size: 66 },
      draw,
    };
  });
  onK(perFrame(() => chart.refresh()));
  const shown = kinds.filter((_, i) => (i !== 2 || hasLabels) && (i !== 3 || meta.ood.length));
  return section(
    "scatter",
    "Noise or ignorance",
    "To the right: the case itself is ambiguous (aleatoric). Upwards: the members disagree, more data " +
      "could help (epistemic). Both axes are logarithmic; abstained as by the k chosen above.",
    h(
      "div",
      { class: "row" },
      labelled(
        "Gate k",
        select(
          settings.map((v) => [v, v]),
          k,
          (v) => {
            k = v;
            chart.redraw();
          },
        ),
      ),
    ),
    h(
      "fieldset",
      { class: "toggles" },
      h("legend", {}, meta.sites ? "Sites" : meta.labels ? "Labels" : "Samples"),
      ...shown.map((kind) =>
        toggle(kind.name, true, `var(${kind.colour})`, (is) => {
          if (is) on.add(kind.name);
          else on.delete(kind.name);
          chart.refresh();
        }),
      ),
    ),
    stride > 1 ? h("p", { class: "about" }, `One of ${stride} ${many === "cases" ? "samples" : many} is drawn.`) : null,
    h("figure", {}, chart.host),
  );
}
