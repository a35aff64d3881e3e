// Single cases: filters, the cases as cards with image, classes and votes, and all of them in a table to sort,
// search and export.
import {
  agreement,
  at,
  className,
  groupName,
  hasMeasure,
  image,
  isCertainty,
  labelOf,
  labels,
  many,
  measure,
  measureName,
  meta,
  ownerOf,
  predictions,
  sampleIds,
  samples,
  topClass,
  topMean,
  topStd,
  topVotes,
} from "./data";
import { changed, inAddress } from "./address";
import { h, labelled, perFrame, section, select, svg } from "./dom";
import { count, figure, percent } from "./format";
import { csvOf, download } from "./csv";
import { getK, hasLabels, isKept, isWrong, onK } from "./rule";

const MAIN = hasMeasure("gmu") ? "gmu" : meta.measures[0];
const PAGE = 25;
const CARDS = 12;

const rowCount = meta.rows;
const uncertainty = (name: string, row: number): number =>
  isCertainty(name) ? -measure(name)[row] : measure(name)[row];

const ranks = new Map<string, Float32Array>();
/** Rank of every row by a measure, 0 certain .. 1 uncertain. */
function rank(name: string): Float32Array {
  let found = ranks.get(name);
  if (!found) {
    const order = Uint32Array.from({ length: rowCount }, (_, i) => i).sort(
      (a, b) => uncertainty(name, a) - uncertainty(name, b),
    );
    found = new Float32Array(rowCount);
    for (let i = 0; i < rowCount; i++) found[order[i]] = rowCount > 1 ? i / (rowCount - 1) : 0;
    ranks.set(name, found);
  }
  return found;
}

// --- what is chosen ----------------------------------------------------------------------------------------------
const state = {
  filter: "uncertain",
  by: MAIN,
  a: hasMeasure("tu") ? "tu" : MAIN,
  b: hasMeasure("eu") ? "eu" : MAIN,
  search: "",
  sort: "",
  direction: -1,
  page: 0,
  cards: CARDS,
};

const filters: [string, string][] = [
  ["uncertain", "most uncertain first"],
  ...(hasLabels
    ? ([
        ["wrong-certain", "wrong but certain"],
        ["right-uncertain", "right but uncertain"],
        ["wrong", "all wrong"],
      ] as [string, string][])
    : []),
  ["abstained", "abstained at this k"],
  ["kept", "answered at this k"],
  ["disagree", "two measures disagree"],
];

const sampleOf = (row: number): number => ownerOf(samples()[row]);
const labelName = (row: number): string => groupName(labelOf(samples()[row]));
/** The name of a sample: its id, or its number. */
const nameOf = (row: number): string => sampleIds?.[row] ?? `#${sampleOf(row)}`;
const truthOf = (row: number): number | null => labels()?.[at(row)] ?? null;

function wanted(row: number): boolean {
  const sample = at(row);
  switch (state.filter) {
    case "wrong-certain":
      return isWrong(sample) && isKept(sample, getK());
    case "wrong":
      return isWrong(sample);
    case "right-uncertain":
      return !isWrong(sample) && rank(state.by)[row] > 0.5;
    case "abstained":
      return !isKept(sample, getK());
    case "kept":
      return isKept(sample, getK());
    case "disagree":
      return Math.abs(rank(state.a)[row] - rank(state.b)[row]) > 0.1;
    default:
      return true;
  }
}

function found(row: number, words: string[]): boolean {
  const sample = sampleOf(row);
  const truth = truthOf(row);
  const text = [
    `#${sample}`,
    sampleIds?.[row] ?? "",
    meta.labels ? labelName(row) : "",
    className(predictions()[at(row)]),
    truth === null ? "" : className(truth),
    isKept(at(row), getK()) ? "answered" : "abstained",
    hasLabels ? (isWrong(at(row)) ? "wrong" : "right") : "",
  ]
    .join(" ")
    .toLowerCase();
  return words.every((word) => text.includes(word) || String(sample) === word);
}

interface TableColumn {
  key: string;
  title: string;
  value: (row: number) => number | string;
  show: (row: number) => string;
}
function columns(): TableColumn[] {
  const k = meta.k.length ? String(meta.k[0]) : null;
  const list: TableColumn[] = [
    { key: "sample", title: "sample", value: sampleOf, show: (r) => `#${sampleOf(r)}` },
    ...(meta.labels ? [{ key: "label", title: "label", value: labelName, show: labelName }] : []),
    ...(sampleIds ? [{ key: "id", title: "id", value: (r: number) => nameOf(r), show: nameOf }] : []),
    ...(hasLabels
      ? [
          {
            key: "truth",
            title: "truth",
            value: (r: number) => truthOf(r) ?? -1,
            show: (r: number) => className(truthOf(r) ?? 0),
          },
        ]
      : []),
    {
      key: "pred",
      title: "prediction",
      value: (r) => predictions()[at(r)],
      show: (r) => className(predictions()[at(r)]),
    },
    ...(hasLabels
      ? [
          {
            key: "right",
            title: "right?",
            value: (r: number) => Number(!isWrong(at(r))),
            show: (r: number) => (isWrong(at(r)) ? "\u2717 wrong" : "\u2713 right"),
          },
        ]
      : []),
    {
      key: "decision",
      title: "at this k",
      value: (r) => Number(isKept(at(r), getK())),
      show: (r) => (isKept(at(r), getK()) ? "answered" : "abstained"),
    },
    {
      key: "confidence",
      title: "confidence",
      value: (r) => topMean()[r * meta.top],
      show: (r) => percent(topMean()[r * meta.top] / 65535, 1),
    },
  ];
  for (const name of ["gmu", "tu", "au", "eu", "epkl", ...(k ? [`gtu@${k}`, `geu@${k}`] : [])].filter(hasMeasure))
    list.push({
      key: name,
      title: measureName(name),
      value: (r) => measure(name)[r],
      show: (r) => figure(measure(name)[r], 3),
    });
  const votes = agreement();
  if (votes && meta.m)
    list.push({ key: "agree", title: "votes", value: (r) => votes[r], show: (r) => `${votes[r]}/${meta.m}` });
  return list;
}
const all = columns();

function chosen(): number[] {
  const words = state.search.toLowerCase().split(/\s+/).filter(Boolean);
  const rows: number[] = [];
  for (let row = 0; row < rowCount; row++) if (wanted(row) && (!words.length || found(row, words))) rows.push(row);
  const column = all.find((c) => c.key === state.sort);
  const compare = (a: number | string, b: number | string): number =>
    typeof a === "string" ? a.localeCompare(String(b), "en", { numeric: true }) : a - Number(b);
  if (column) return rows.sort((a, b) => state.direction * compare(column.value(a), column.value(b)) || a - b);
  if (state.filter === "disagree") {
    const [a, b] = [rank(state.a), rank(state.b)];
    return rows.sort((x, y) => Math.abs(a[y] - b[y]) - Math.abs(a[x] - b[x]) || x - y);
  }
  const order = rank(state.by);
  const sign = state.filter === "wrong-certain" || state.filter === "kept" ? 1 : -1;
  return rows.sort((x, y) => sign * (order[x] - order[y]) || x - y);
}

// --- a case as a card --------------------------------------------------------------------------------------------
function bars(row: number): SVGElement {
  const height = 22;
  const votes = topVotes();
  const truth = truthOf(row);
  const parts: SVGElement[] = [];
  for (let t = 0; t < meta.top; t++) {
    const cell = row * meta.top + t;
    const c = topClass()[cell];
    const mean = topMean()[cell] / 65535;
    const std = topStd()[cell] / 65535;
    const y = t * height;
    const x = (v: number): number => 84 + 110 * Math.min(1, Math.max(0, v));
    const name = className(c);
    parts.push(
      svg(
        "text",
        { x: 80, y: y + 15, "text-anchor": "end", class: c === truth ? "true" : "" },
        (c === truth ? "\u2713 " : "") + (name.length > 12 ? `${name.slice(0, 11)}\u2026` : name),
      ),
      svg("rect", {
        x: 84,
        y: y + 4,
        width: Math.max(0.5, x(mean) - 84),
        height: height - 8,
        class: c === truth ? "bar true" : "bar",
      }),
      svg("line", { x1: x(mean - std), x2: x(mean + std), y1: y + 11, y2: y + 11, class: "error" }),
      svg("line", { x1: x(mean - std), x2: x(mean - std), y1: y + 7, y2: y + 15, class: "error" }),
      svg("line", { x1: x(mean + std), x2: x(mean + std), y1: y + 7, y2: y + 15, class: "error" }),
      svg(
        "text",
        { x: 200, y: y + 15, class: "votes" },
        votes && meta.m ? `${percent(mean, 0)} \u00b7 ${votes[cell]} votes` : percent(mean, 1),
      ),
    );
  }
  return svg(
    "svg",
    {
      viewBox: `0 0 300 ${meta.top * height}`,
      class: "bars-chart",
      role: "img",
      "aria-label": `classes of sample ${sampleOf(row)}`,
    },
    ...parts,
  );
}

function card(row: number): HTMLElement {
  const sample = sampleOf(row);
  const truth = truthOf(row);
  const wrong = isWrong(at(row));
  const kept = isKept(at(row), getK());
  const picture = image(row);
  const predicted = className(predictions()[at(row)]);
  if (picture) picture.setAttribute("aria-label", `image of sample ${sample}`);
  return h(
    "article",
    { class: "card" },
    h(
      "div",
      { class: "card-head" },
      picture,
      h(
        "div",
        {},
        h("h3", {}, meta.labels ? `${nameOf(row)} \u00b7 ${labelName(row)}` : nameOf(row)),
        sampleIds ? h("p", { class: "hint" }, `#${sample}`) : null,
        h(
          "p",
          {},
          truth === null
            ? `predicted ${predicted}`
            : `${wrong ? "\u2717" : "\u2713"} predicted ${predicted}${wrong ? `, truth ${className(truth)}` : ""}`,
        ),
        h(
          "p",
          {},
          h("span", { class: `tag ${kept ? "kept" : "out"}` }, kept ? "answered" : "to a person"),
          ` ${measureName(state.by)} ${figure(measure(state.by)[row], 3)}`,
        ),
      ),
    ),
    bars(row),
  );
}

// --- the section -------------------------------------------------------------------------------------------------
function table(rows: () => number[], changed: () => void): { element: HTMLElement; draw: () => void } {
  const body = h("tbody");
  const heads = all.map((column) =>
    h(
      "th",
      { scope: "col" },
      h(
        "button",
        {
          type: "button",
          onclick: () => {
            state.direction = state.sort === column.key ? -state.direction : -1;
            state.sort = column.key;
            state.page = 0;
            changed();
          },
        },
        column.title,
      ),
    ),
  );
  const where = h("span", { id: "case-count", role: "status" });
  const back = h(
    "button",
    {
      type: "button",
      class: "quiet",
      onclick: () => {
        state.page--;
        draw();
      },
    },
    "Previous",
  );
  const next = h(
    "button",
    {
      type: "button",
      class: "quiet",
      onclick: () => {
        state.page++;
        draw();
      },
    },
    "Next",
  );
  const draw = (): void => {
    const list = rows();
    const pages = Math.max(1, Math.ceil(list.length / PAGE));
    state.page = Math.min(Math.max(0, state.page), pages - 1);
    body.replaceChildren(
      ...list
        .slice(state.page * PAGE, (state.page + 1) * PAGE)
        .map((row) => h("tr", {}, ...all.map((column) => h("td", {}, column.show(row))))),
    );
    where.textContent = `${count(list.length)} ${many}, page ${state.page + 1} of ${count(pages)}`;
    back.disabled = state.page === 0;
    next.disabled = state.page === pages - 1;
    heads.forEach((head, i) => {
      if (all[i].key === state.sort) head.setAttribute("aria-sort", state.direction > 0 ? "ascending" : "descending");
      else head.removeAttribute("aria-sort");
    });
  };
  return {
    draw,
    element: h(
      "div",
      {},
      h(
        "div",
        { class: "scroll", tabindex: 0, role: "region", "aria-label": "table of cases" },
        h("table", { id: "case-table" }, h("thead", {}, h("tr", {}, ...heads)), body),
      ),
      h("div", { class: "row" }, back, next, where),
    ),
  };
}

/** For images, the section of images replaces it. */
export function cases(): HTMLElement | null {
  if (meta.sites) return null;
  let rows: number[] = [];
  const deck = h("div", { class: "deck", id: "case-cards" });
  const more = h(
    "button",
    {
      type: "button",
      class: "quiet",
      onclick: () => {
        state.cards += CARDS;
        cards();
      },
    },
    "Show more cases",
  );
  const cards = (): void => {
    deck.replaceChildren(...rows.slice(0, state.cards).map(card));
    more.hidden = rows.length <= state.cards;
  };
  const list = table(
    () => rows,
    () => update(),
  );
  const update = (): void => {
    changed();
    rows = chosen();
    cards();
    list.draw();
  };
  const pairs = h("span", { class: "row", hidden: true });
  const names = meta.measures.map((m) => [m, measureName(m)] as [string, string]);
  pairs.append(
    labelled(
      "First",
      select(names, state.a, (v) => {
        state.a = v;
        update();
      }),
    ),
    labelled(
      "Second",
      select(names, state.b, (v) => {
        state.b = v;
        update();
      }),
    ),
  );
  const filter = select(filters, state.filter, (v) => {
    Object.assign(state, { filter: v, sort: "", page: 0, cards: CARDS });
    pairs.hidden = v !== "disagree";
    update();
  });
  filter.id = "case-filter";
  const search = h("input", {
    type: "search",
    id: "case-search",
    placeholder: `number, ${sampleIds ? "id, " : ""}class, wrong, abstained \u2026`,
    oninput: perFrame(() => {
      state.search = search.value;
      state.page = 0;
      update();
    }),
  });
  const exported = (): void => {
    update();
    download("cases.csv", csvOf(rows, getK()));
  };
  inAddress(
    "show",
    () => (state.filter === "uncertain" ? null : state.filter),
    (text) => {
      if (!filters.some(([key]) => key === text)) return;
      filter.value = text;
      filter.dispatchEvent(new Event("change"));
    },
  );
  const by = select(names, state.by, (v) => {
    state.by = v;
    state.sort = "";
    update();
  });
  inAddress(
    "by",
    () => (state.by === MAIN ? null : state.by),
    (text) => {
      if (!hasMeasure(text)) return;
      by.value = text;
      by.dispatchEvent(new Event("change"));
    },
  );
  inAddress(
    "search",
    () => state.search.trim() || null,
    (text) => {
      search.value = text.slice(0, 200);
      search.dispatchEvent(new Event("input"));
    },
  );
  let seen = false;
  const host = section(
    "cases",
    "Case by case",
    "Bars: mean over members; whiskers: plus and minus one spread; votes: members whose own best class this is." +
      (meta.top < meta.c ? ` The ${meta.top} largest classes of each case are shown.` : ""),
    h(
      "div",
      { class: "row" },
      labelled("Show", filter),
      labelled("Measure", by),
      pairs,
      labelled("Search", search),
      h("button", { type: "button", id: "case-export", onclick: exported }, "Export CSV"),
    ),
    deck,
    more,
    list.element,
  );
  const observer = new IntersectionObserver(
    (entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      observer.disconnect();
      seen = true;
      update();
    },
    { rootMargin: "400px" },
  );
  observer.observe(host);
  let later = 0; // the list is updated once k stops changing
  onK(() => {
    clearTimeout(later);
    later = window.setTimeout(() => {
      if (seen) update();
    }, 120);
  });
  addEventListener("beforeprint", () => {
    if (!seen) update();
  });
  return host;
}
