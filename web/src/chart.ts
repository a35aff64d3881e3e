// Plots by uPlot in the colours and fonts of the page. A plot is made when it is about to scroll into view, and follows
// changes of width and theme.
import uPlot from "uplot";
import { h } from "./dom";
import { css, onTheme } from "./theme";

export interface Plan {
  data: uPlot.AlignedData;
  series: uPlot.Series[];
  x?: Partial<uPlot.Axis> & { range?: [number, number]; log?: boolean };
  y?: Partial<uPlot.Axis> & { range?: [number, number]; log?: boolean };
  y2?: Partial<uPlot.Axis> & { range?: [number, number] };
  draw?: (u: uPlot) => void;
  select?: boolean;
}

function axis(label: string, extra: Partial<uPlot.Axis> = {}): uPlot.Axis {
  return {
    label,
    labelSize: 22,
    labelGap: 2,
    stroke: css("--ink2"),
    font: "12px system-ui, sans-serif",
    labelFont: "12px system-ui, sans-serif",
    grid: { stroke: css("--grid"), width: 1 },
    ticks: { stroke: css("--grid"), width: 1, size: 4 },
    ...extra,
  };
}

/** Logarithmic axes show powers of ten; where there are not two of them, a few of the others. */
const isPower = (v: number): boolean => v > 0 && Math.abs(Math.log10(v) - Math.round(Math.log10(v))) < 1e-6;
const few = (_u: uPlot, splits: number[]): (number | null)[] => {
  if (splits.filter(isPower).length > 1) return splits.map((v) => (isPower(v) ? v : null));
  const step = Math.ceil(splits.length / 6);
  return splits.map((v, i) => (i % step === 0 ? v : null));
};
const powers = (log: boolean | undefined): Partial<uPlot.Axis> =>
  log
    ? {
        grid: { stroke: css("--grid"), width: 1, filter: few },
        ticks: { stroke: css("--grid"), width: 1, size: 4, filter: few },
        filter: few,
        values: (_u, splits) =>
          splits.map((v) =>
            v === null
              ? ""
              : v >= 0.01 && v < 1e4
                ? String(Number(v.toPrecision(3)))
                : v.toExponential(0).replace("e+", "e"),
          ),
      }
    : {};

export class Chart {
  readonly host: HTMLElement;
  private plot: uPlot | null = null;
  private seen = false;
  private near = false;
  private stale = false;

  constructor(
    private readonly label: string,
    private readonly height: number,
    private readonly plan: () => Plan,
  ) {
    this.host = h("div", { class: "chart", role: "img", "aria-label": label, style: `min-height:${height}px` });
    new IntersectionObserver(
      (entries) => {
        this.near = entries[entries.length - 1].isIntersecting;
        if (!this.near) return;
        this.show();
        if (this.stale) this.refresh();
      },
      { rootMargin: "600px" },
    ).observe(this.host);
    new ResizeObserver(() => this.resize()).observe(this.host);
    onTheme(() => this.redraw());
    addEventListener("beforeprint", () => {
      this.show();
      this.plot?.redraw(false);
    });
  }

  show(): void {
    if (this.seen) return;
    this.seen = true;
    this.redraw();
  }

  private width(): number {
    return Math.max(200, Math.floor(this.host.clientWidth));
  }

  private resize(): void {
    if (this.plot && this.plot.width !== this.width()) this.plot.setSize({ width: this.width(), height: this.height });
  }

  /** Draws again what lies over the same data (a mark that moved). */
  refresh(): void {
    this.stale = !this.near; // out of sight: later
    if (this.near) this.plot?.redraw(false);
  }

  /** Makes the plot again from its plan. */
  redraw(): void {
    if (!this.seen) return;
    const plan = this.plan();
    this.plot?.destroy();
    const scale = (of: { range?: [number, number]; log?: boolean } | undefined): uPlot.Scale => ({
      time: false,
      ...(of?.range ? { range: of.range } : {}),
      ...(of?.log ? { distr: 3, log: 10 } : {}),
    });
    const options: uPlot.Options = {
      width: this.width(),
      height: this.height,
      scales: { x: scale(plan.x), y: scale(plan.y), ...(plan.y2 ? { y2: scale(plan.y2) } : {}) },
      axes: [
        axis(String(plan.x?.label ?? ""), { size: 32, ...powers(plan.x?.log), ...plan.x }),
        axis(String(plan.y?.label ?? ""), { size: 58, ...powers(plan.y?.log), ...plan.y }),
        ...(plan.y2
          ? [axis(String(plan.y2.label ?? ""), { size: 50, side: 1, scale: "y2", ...plan.y2, grid: { show: false } })]
          : []),
      ],
      series: [{}, ...plan.series],
      legend: { show: false },
      cursor: { show: plan.select ?? false, drag: { x: false, y: false } },
      padding: [8, 16, 0, 0],
      hooks: plan.draw ? { draw: [plan.draw] } : {},
    };
    this.plot = new uPlot(options, plan.data, this.host);
    this.host.setAttribute("aria-label", this.label);
  }
}

export const line = (colour: string, extra: Partial<uPlot.Series> = {}): uPlot.Series => ({
  stroke: colour,
  width: 1.75,
  points: { show: false },
  spanGaps: true,
  ...extra,
});

/** A filled circle at data coordinates. */
export function dot(u: uPlot, x: number, y: number, colour: string, radius = 5): void {
  const scale = devicePixelRatio;
  u.ctx.save();
  u.ctx.beginPath();
  u.ctx.arc(u.valToPos(x, "x", true), u.valToPos(y, "y", true), radius * scale, 0, 2 * Math.PI);
  u.ctx.fillStyle = colour;
  u.ctx.strokeStyle = css("--card");
  u.ctx.lineWidth = 2 * scale;
  u.ctx.setLineDash([]);
  u.ctx.fill();
  u.ctx.stroke();
  u.ctx.restore();
}

/** A vertical line with a word beside it. */
export function mark(u: uPlot, x: number, text: string, colour: string): void {
  const scale = devicePixelRatio;
  const at = u.valToPos(x, "x", true);
  const { top, height, left, width } = u.bbox;
  u.ctx.save();
  u.ctx.strokeStyle = u.ctx.fillStyle = colour;
  u.ctx.lineWidth = 1.5 * scale;
  u.ctx.setLineDash([5 * scale, 4 * scale]);
  u.ctx.beginPath();
  u.ctx.moveTo(at, top);
  u.ctx.lineTo(at, top + height);
  u.ctx.stroke();
  u.ctx.font = `${12 * scale}px system-ui, sans-serif`;
  const flip = at > left + 0.7 * width;
  u.ctx.textAlign = flip ? "right" : "left";
  u.ctx.fillText(text, at + (flip ? -6 : 6) * scale, top + 14 * scale);
  u.ctx.restore();
}
