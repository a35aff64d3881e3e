// The report in a real browser, from disk: numbers against `vargate decide` and `evaluate`, sorting, filters, export,
// target risk, keyboard, both colour schemes, three widths, hostile names, a clean console, no network.
//
//     node tests/web/browser_test.mjs VARGATE CHROMIUM FOLDER NODE_MODULES [SCREENSHOTS]
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { check, equal, finish, folder, launch, number, openPage, screenshots } from "./checks.mjs";
import { setK, settle, text, until, vargate } from "./checks.mjs";
import { digitLabels, writeLines, writeMany, writeMetrics } from "./inputs.mjs";

const near = (what, found, expected, tolerance) =>
  check(what, Math.abs(found - expected) <= tolerance, { found, expected });
const run = (...args) =>
  execFileSync(vargate, args, { encoding: "utf8", maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "inherit"] });
const json = (...args) => JSON.parse(run(...args, "--json", "-q"));

// --- inputs ----------------------------------------------------------------------------------------------------------
const hostile = "</script><script>window.hacked=1</script><img src=x onerror=window.hacked=1>";
const hostileSet = "</script><script>hacked()</script>&amp;"; // the first = ends a set's name
const names = ["zero", "=1+1", hostile, 'th"ree', "four", "five", "six", "seven", "eight", "nine,"].map((n) =>
  n.replace(",", ";"),
);
const predictions = join(folder, "digits.jsonl");
const labels = digitLabels();
writeLines(predictions, labels, 8, 10, 1);
writeLines(join(folder, "ood.jsonl"), labels.slice(0, 400), 8, 10, 2, true);
writeMetrics(join(folder, "metrics.jsonl"));
run(
  "report",
  predictions,
  "-o",
  join(folder, "digits"),
  "--images",
  "digits",
  "--data",
  "data",
  "--ood",
  `${hostileSet}=${join(folder, "ood.jsonl")}`,
  "--metrics",
  join(folder, "metrics.jsonl"),
  "--class-names",
  names.join(","),
  "--title",
  hostile,
  "--no-figures",
  "-q",
);
const page_path = join(folder, "digits", "report.html");
check("under 5 MB", statSync(page_path).size < 5e6, statSync(page_path).size);

const browser = await launch();
const complaints = [];
const open = (path, options) => openPage(browser, complaints, resolve(path), options);
/** The numbers the page shows, against those of vargate decide for that k. */
async function compareRule(page, k, file, ...more) {
  const d = json("decide", file, "-k", String(k), ...more);
  equal(`kept at k = ${k}`, number(await text(page, "#kept")), d.kept);
  equal(`abstained at k = ${k}`, number(await text(page, "#abstained")), d.abstained);
  equal(`coverage at k = ${k}`, await text(page, "#coverage"), `${(100 * d.coverage).toFixed(2)} %`);
  equal(
    `accuracy on the kept at k = ${k}`,
    await text(page, "#kept-accuracy"),
    d.kept_accuracy === null ? "\u2013" : `${(100 * d.kept_accuracy).toFixed(2)} %`,
  );
  equal(`errors caught at k = ${k}`, number((await text(page, "#caught")).split(" of ")[0]), d.abstained_errors);
  return d;
}

// --- figures and the rule --------------------------------------------------------------------------------------------
const page = await open(page_path);
// The data are there before the first paint on a machine that is busy.
await until(page, () => performance.getEntriesByName("first-contentful-paint").length > 0);
const timing = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0);
const evaluation = json("evaluate", predictions);
equal("accuracy", await text(page, "#accuracy"), `${(100 * evaluation.accuracy).toFixed(2)} %`);
near("ECE", number(await text(page, "#ece")), evaluation.ece, 1e-3 * evaluation.ece);
near("NLL", number(await text(page, "#nll")), evaluation.nll, 1e-3 * evaluation.nll);
near("F1", number(await text(page, "#f1")), evaluation.f1_macro, 1e-3 * evaluation.f1_macro);
const score = json("score", predictions);
near("diversity", number(await text(page, "#diversity")), score.diversity, 1e-3 * score.diversity);
check("the verdict in words", (await text(page, "#verdict")).includes(score.verdict), score.verdict);
for (const k of [0.02, 0.5, 1, 1.37, 3, 12]) {
  await setK(page, k);
  await compareRule(page, k, predictions);
}
await setK(page, 2);
const rule = json("evaluate", predictions, "-k", "2").rule["2"];
const most = Math.max(...rule.abstained_by_label);
check(
  "abstained classes",
  (await text(page, "#abstained-classes li .number")).startsWith(`${most} (`),
  await text(page, "#abstained-classes li .number"),
);
await page.selectOption("#abstained-classes >> xpath=../figcaption/select", "prediction");
await settle(page);
check(
  "abstained by prediction",
  (await text(page, "#abstained-classes li .number")).startsWith(`${Math.max(...rule.abstained_by_prediction)} (`),
);
await page.locator("#error-table").scrollIntoViewIfNeeded();
near(
  "AURC of TU",
  number(await text(page, "#error-table tbody tr:first-child td:nth-child(2)")),
  evaluation.measures.tu.aurc,
  1e-3 * evaluation.measures.tu.aurc,
);

// --- target risk -----------------------------------------------------------------------------------------------------
// The page's promise is that of the command with these samples as validation data, met or not.
const promise = (risk) => {
  try {
    return JSON.parse(
      execFileSync(
        vargate,
        [
          "decide",
          predictions,
          "--calibration",
          predictions,
          "--by",
          "k",
          "--target-risk",
          String(risk / 100),
          "--json",
          "-q",
        ],
        { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] },
      ),
    );
  } catch (error) {
    return { message: String(error.stderr) };
  }
};
let k = 0;
const seen = { met: 0, missed: 0 };
for (const risk of [0.05, 1, 3, 4.5, 6, 10]) {
  await setK(page, 2);
  await page.fill("#target-risk", String(risk));
  await settle(page);
  const said = await text(page, "#target-answer");
  const d = promise(risk);
  if (d.message) {
    seen.missed++;
    check(
      `${risk} % is not promised`,
      said.includes("No k can promise") && (await page.inputValue("#k-number")) === "2",
      { said, d },
    );
    continue;
  }
  seen.met++;
  k = Number(await page.inputValue("#k-number"));
  equal(`k promised for ${risk} %`, k, d.k);
  equal(`the bound at ${risk} %`, await text(page, "#risk-bound"), `${(100 * d.calibration.risk_bound).toFixed(2)} %`);
  check(`the bound is below ${risk} %`, d.calibration.risk_bound <= risk / 100, d.calibration);
  check("says the confidence", said.includes(`at most ${risk} % with 95 % confidence`), said);
  const met = await compareRule(page, k, predictions);
  check("says how many go to a person", said.includes(`${met.abstained.toLocaleString("en-US")} of`), said);
  check("the slider moved", (await page.getAttribute("#k-slider", "aria-valuetext")) === `k = ${k}`);
}
check("some targets can be met, some cannot", seen.met >= 2 && seen.missed >= 2, seen);
await page.fill("#target-risk", "");
await page.fill("#target-coverage", "90");
await settle(page);
k = Number(await page.inputValue("#k-number"));
const covered = await compareRule(page, k, predictions);
check("the coverage is met", covered.coverage >= 0.9, covered.coverage);

// --- what cannot be used ---------------------------------------------------------------------------------------------
/** The complaint beside a box; the answer below and the other boxes are empty then, and k is as it was. */
async function complains(selector, typed, expected) {
  const chosen = await text(page, "#k-status");
  await page.fill("#target-coverage", "90"); // an answer that must not stay
  await settle(page);
  const kept = await text(page, "#kept");
  check("an answer is there", (await text(page, "#target-answer")) !== "");
  await page.fill(selector, typed);
  if (selector === "#k-number") await page.press(selector, "Enter");
  await settle(page);
  equal(`${selector} ${typed}: complaint`, await text(page, `${selector}-problem`), expected);
  check(
    `${selector} ${typed}: beside the box`,
    await page.evaluate((id) => {
      const box = document.querySelector(id).getBoundingClientRect();
      const words = document.querySelector(`${id}-problem`).getBoundingClientRect();
      return (
        words.width > 0 &&
        words.left >= box.right &&
        words.left - box.right < 40 &&
        Math.abs(words.top + words.bottom - box.top - box.bottom) < box.height
      );
    }, selector),
  );
  equal(`${selector} ${typed}: marked`, await page.getAttribute(selector, "aria-invalid"), "true");
  equal(`${selector} ${typed}: no answer stays`, await text(page, "#target-answer"), "");
  for (const other of ["#target-risk", "#target-coverage"])
    if (other !== selector) equal(`${selector} ${typed}: ${other} is empty`, await page.inputValue(other), "");
  equal(`${selector} ${typed}: k stays`, await text(page, "#kept"), kept);
  check(`${selector} ${typed}: the status has a k`, /^k = [0-9.]+ /.test(chosen), chosen);
}
for (const [typed, problem] of [
  ["150", "must be at most 100"],
  ["0", "must be above 0"],
  ["-5", "must be above 0"],
  ["1,5", "write 1.5, with a point"],
  ["9o", "not a number"],
])
  await complains("#target-coverage", typed, problem);
for (const [typed, problem] of [
  ["101", "must be at most 50"],
  ["-1", "must be above 0"],
  ["0", "must be above 0"],
  ["1,5", "write 1.5, with a point"],
])
  await complains("#target-risk", typed, problem);
for (const [typed, problem] of [
  ["0", "must be above 0"],
  ["-1", "must be above 0"],
  ["1,5", "write 1.5, with a point"],
  ["1e999", "not a number that can be used"],
])
  await complains("#k-number", typed, problem);
await page.fill("#k-number", "");
await page.press("#k-number", "Enter");
check(
  "an empty k is the k that counts",
  (await text(page, "#k-status")).startsWith(`k = ${await page.inputValue("#k-number")} `),
);
equal("no complaint about it", await text(page, "#k-number-problem"), "");
await page.fill("#target-risk", "1");
await setK(page, 1.5);
equal("another k ends the answer", await text(page, "#target-answer"), "");
equal("and the target", await page.inputValue("#target-risk"), "");

// --- keyboard --------------------------------------------------------------------------------------------------------
await page.focus("#k-slider");
const before = Number(await page.inputValue("#k-number"));
await page.keyboard.press("ArrowRight");
await page.keyboard.press("ArrowRight");
await settle(page);
k = Number(await page.inputValue("#k-number"));
check("arrow keys move k", k > before, { before, k });
await compareRule(page, k, predictions);
await page.keyboard.press("Tab");
equal("Tab goes on to the number", await page.evaluate(() => document.activeElement?.id), "k-number");
await page.evaluate(() => document.querySelector("#measures input[type=checkbox]").focus());
const was = await page.evaluate(() => document.activeElement.checked);
await page.keyboard.press("Space");
check("Space switches a curve", (await page.evaluate(() => document.activeElement.checked)) !== was);
await page.keyboard.press("Space");

// --- cases: sort, filter, search, export -----------------------------------------------------------------------------
await setK(page, 1);
await page.locator("#cases").scrollIntoViewIfNeeded();
await page.waitForSelector("#case-table tbody tr");
async function exported() {
  const [download] = await Promise.all([page.waitForEvent("download"), page.click("#case-export")]);
  const lines = readFileSync(await download.path(), "utf8")
    .trimEnd()
    .split("\r\n");
  const split = (line) =>
    [...line.matchAll(/("(?:[^"]|"")*"|[^,]*)(?:,|$)/g)]
      .slice(0, lines[0].split(",").length)
      .map((m) => m[1].replace(/^"|"$/g, "").replace(/""/g, '"'));
  const head = split(lines[0]);
  return lines.slice(1).map((line) => Object.fromEntries(split(line).map((v, i) => [head[i], v])));
}
const everything = await exported();
equal("every case is exported", everything.length, labels.length);
run("decide", predictions, "-k", "1", "-o", join(folder, "decisions.csv"), "-q");
const decisions = readFileSync(join(folder, "decisions.csv"), "utf8")
  .trimEnd()
  .split("\n")
  .slice(1)
  .map((line) => line.split(","));
check(
  "exported decisions are vargate decide's",
  everything.every((row) => decisions[Number(row.sample)][2] === row.decision),
);
check(
  "no formula in the file",
  everything.every((row) => !/^[=+@]/.test(row.pred_name)) && everything.some((row) => row.pred_name === "'=1+1"),
);
const column = await page.evaluate(() =>
  [...document.querySelectorAll("#case-table th")].findIndex((th) => th.textContent === "TU"),
);
await page.click(`#case-table th:nth-child(${column + 1}) button`);
const top = number(await text(page, `#case-table tbody tr:first-child td:nth-child(${column + 1})`));
near("sorted by TU, falling", top, Math.max(...everything.map((row) => Number(row.tu))), 5e-3 * top);
await page.focus(`#case-table th:nth-child(${column + 1}) button`);
await page.keyboard.press("Enter");
check(
  "Enter turns the order",
  number(await text(page, `#case-table tbody tr:first-child td:nth-child(${column + 1})`)) < top,
);
equal("aria-sort", await page.getAttribute(`#case-table th:nth-child(${column + 1})`, "aria-sort"), "ascending");
await page.selectOption("#case-filter", "wrong-certain");
const surprising = await exported();
check(
  "wrong but certain: wrong and answered",
  surprising.length > 0 && surprising.every((row) => row.label !== row.pred && row.decision !== "-1"),
  surprising.length,
);
await page.selectOption("#case-filter", "right-uncertain");
const torn = await exported();
check(
  "right but uncertain: right, most uncertain first",
  torn.length > 1 && torn.every((row) => row.label === row.pred) && Number(torn[0].gmu) >= Number(torn[1].gmu),
);
await page.selectOption("#case-filter", "disagree");
check("two measures disagree", (await exported()).length > 0);
await page.selectOption("#case-filter", "abstained");
equal("abstained cases", (await exported()).length, json("decide", predictions, "-k", "1").abstained);
await page.selectOption("#case-filter", "uncertain");
await page.fill("#case-search", "wrong seven");
await settle(page);
const seven = await exported();
check(
  "search",
  seven.length > 0 &&
    seven.every((row) => row.label !== row.pred && (row.label_name === "seven" || row.pred_name === "seven")),
  seven.length,
);
await page.fill("#case-search", "");
await settle(page);
check(
  "cards with images and bars",
  (await page.locator("#case-cards .card canvas").count()) > 0 &&
    (await page.locator("#case-cards .bars-chart").count()) === 12,
);
check(
  "an image is drawn",
  await page.evaluate(() => {
    const canvas = document.querySelector("#case-cards canvas");
    return canvas
      .getContext("2d")
      .getImageData(0, 0, canvas.width, canvas.height)
      .data.some((v, i) => i % 4 !== 3 && v > 100);
  }),
);

// --- names, interaction time, print ----------------------------------------------------------------------------------
check(
  "hostile names are text",
  (await page.evaluate(() => window.hacked)) === undefined && (await text(page, "h1")) === hostile,
);
check("the OOD set's name is text", (await text(page, "#ood h3")).startsWith(hostileSet));
check(
  "the collapse is told",
  (await text(page, "#training .about")).includes("epoch 6"),
  await text(page, "#training .about"),
);
const took = await page.evaluate(async () => {
  const slider = document.querySelector("#k-slider");
  const times = [];
  for (let i = 0; i < 15; i++) {
    slider.value = String(200 + 20 * i);
    const start = performance.now();
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    times.push(performance.now() - start);
  }
  return times.sort((a, b) => a - b)[7];
});
check("moving k answers soon", took < 300, took);
check("the page is painted soon", timing > 0 && timing < 3000, timing);
await page.emulateMedia({ media: "print" });
check(
  "print leaves controls out",
  await page.evaluate(() => getComputedStyle(document.querySelector("nav")).display === "none"),
);
check("prints", (await page.pdf({ format: "A4" })).length > 20000);
check(
  "paragraphs and tables are not torn apart on paper",
  await page.evaluate(() =>
    [...document.querySelectorAll(".about, #class-table, #error-table")].every(
      (e) => getComputedStyle(e).breakInside === "avoid",
    ),
  ),
);
equal(
  "selections are printed",
  await page.evaluate(() =>
    [...document.querySelectorAll("#ood select, #scatter select")].every((e) => e.offsetParent !== null),
  ),
  true,
);
equal(
  "search and buttons are not",
  await page.evaluate(() =>
    [...document.querySelectorAll("#case-search, #case-export")].some((e) => e.offsetParent !== null),
  ),
  false,
);
await page.context().close();

// --- A4: plots drawn for a wide, dark screen are whole, in colours for paper, with their legends ---------------------
const paper = await browser.newContext({ viewport: { width: 1280, height: 900 }, colorScheme: "dark" });
await paper.addInitScript(() => {
  // as in print: the layout changes without an event for scripts
  window.ResizeObserver = class {
    observe() {}
  };
});
const sheet = await paper.newPage();
await sheet.goto(`file://${resolve(page_path)}`);
await until(sheet, () => document.querySelector("#coverage")?.textContent);
await sheet.evaluate(() => {
  for (const box of document.querySelectorAll("details input"))
    if (!box.checked) {
      box.click();
      break;
    }
  dispatchEvent(new Event("beforeprint"));
});
await sheet.emulateMedia({ media: "print" });
await sheet.setViewportSize({ width: 688, height: 1000 }); // 210 mm less the margins
await settle(sheet);
const plots = await sheet.evaluate(() =>
  [...document.querySelectorAll(".chart")].map((host) => {
    const canvas = host.querySelector("canvas");
    const inner = canvas?.getBoundingClientRect();
    const outer = host.getBoundingClientRect();
    return {
      label: host.getAttribute("aria-label"),
      drawn: Boolean(canvas),
      inside:
        inner &&
        inner.left >= outer.left - 1 &&
        inner.right <= outer.right + 1 &&
        inner.right <= 689 &&
        inner.bottom <= outer.bottom + 1,
      shape: canvas && Math.abs(inner.width / inner.height - canvas.width / canvas.height) < 0.02,
      tall: inner?.height,
    };
  }),
);
check("every plot is drawn for paper", plots.length >= 8 && plots.every((p) => p.drawn), plots);
check(
  "every plot is whole on A4",
  plots.every((p) => p.inside && p.shape && p.tall > 80),
  plots.filter((p) => !p.inside || !p.shape),
);
check(
  "colours are kept",
  await sheet.evaluate(() =>
    [...document.querySelectorAll(".swatch, .fill, .verdict")].every(
      (e) => getComputedStyle(e).printColorAdjust === "exact",
    ),
  ),
);
check(
  "paper is light",
  await sheet.evaluate(() => getComputedStyle(document.documentElement).getPropertyValue("--ink").trim() === "#16202a"),
);
const legends = await sheet.evaluate(() =>
  [...document.querySelectorAll(".toggle")].map((t) => ({
    on: t.querySelector("input").checked,
    shown: t.offsetParent !== null,
    box: t.querySelector("input").offsetParent !== null,
    colour: t.querySelector(".swatch")?.getBoundingClientRect().width ?? 0,
  })),
);
check(
  "legends show the curves that are drawn",
  legends.some((l) => l.on) && legends.every((l) => l.on === l.shown && !l.box && (!l.on || l.colour > 5)),
  legends.filter((l) => l.on !== l.shown),
);
check(
  "legends of plots without switches",
  await sheet.evaluate(() =>
    [...document.querySelectorAll(".legend .swatch")].every((e) => e.getBoundingClientRect().width > 5),
  ),
);
await sheet.evaluate(() => dispatchEvent(new Event("afterprint")));
check(
  "the screen is as it was",
  await sheet.evaluate(
    () =>
      document.documentElement.dataset.theme === undefined &&
      [...document.querySelectorAll("details")].every((d) => !d.open),
  ),
);
await paper.close();

// --- schemes and widths ----------------------------------------------------------------------------------------------
const backs = [];
for (const colorScheme of ["light", "dark"]) {
  for (const width of [360, 768, 1280]) {
    const view = await open(page_path, { colorScheme, viewport: { width, height: 800 } });
    await view.evaluate(async () => {
      for (let y = 0; y < document.body.scrollHeight; y += 700) {
        scrollTo({ top: y, behavior: "instant" });
        // Charts are drawn when a frame shows them, which takes longer on a busy machine.
        await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 30))));
      }
    });
    const wide = await view.evaluate(() => document.documentElement.scrollWidth);
    check(`no sideways scrolling at ${width}, ${colorScheme}`, wide <= width, wide);
    if (width > 640) {
      const cut = await view.evaluate(() => {
        const links = document.querySelector(".links");
        return links.scrollWidth - links.clientWidth;
      });
      check(`no link of the navigation is cut at ${width}, ${colorScheme}`, cut <= 0, cut);
    }
    await view.waitForFunction(() => document.querySelectorAll(".chart canvas").length >= 8).catch(() => {});
    check(
      `charts are drawn at ${width}, ${colorScheme}`,
      (await view.locator(".chart canvas").count()) >= 8,
      await view.locator(".chart canvas").count(),
    );
    if (width === 1280) backs.push(await view.evaluate(() => getComputedStyle(document.body).backgroundColor));
    if (width === 1280 && colorScheme === "light") {
      await view.evaluate(() => scrollTo({ top: 0, behavior: "instant" }));
      await view.click("#theme");
      backs.push(await view.evaluate(() => getComputedStyle(document.body).backgroundColor));
    }
    if (screenshots) {
      mkdirSync(screenshots, { recursive: true });
      await view.evaluate(() => scrollTo({ top: 0, behavior: "instant" }));
      await view.screenshot({ path: join(screenshots, `${width}-${colorScheme}.png`), fullPage: true });
    }
    await view.context().close();
  }
}
for (const width of [390, 1200]) {
  const view = await open(`${page_path}#sets`, { viewport: { width, height: 800 } });
  const top = (id) => view.evaluate((name) => document.getElementById(name).getBoundingClientRect().top, id);
  const below = await view.evaluate(() => document.querySelector("nav").getBoundingClientRect().height);
  await view.waitForTimeout(1000);
  check(`an address scrolls to its section at ${width}`, Math.abs((await top("sets")) - below) < 45, await top("sets"));
  await view.locator('nav a[href="#cases"]').click();
  await view.waitForTimeout(1000);
  check(`a link scrolls to its section at ${width}`, Math.abs((await top("cases")) - below) < 45, await top("cases"));
  await view.context().close();
}
check("dark is dark, by the system or the button", backs[0] !== backs[1] && backs[1] === backs[2], backs);

// --- many samples ----------------------------------------------------------------------------------------------------
const many = join(folder, "many.npy");
writeMany(many, join(folder, "labels.npy"), 60000, 3);
run("report", many, "--labels", join(folder, "labels.npy"), "-o", join(folder, "many"), "--no-figures", "-q");
const large = await open(join(folder, "many", "report.html"));
check("says that plots are sampled", (await text(large, "#sampled")).includes("of 60,000 samples"));
for (const at of [0.7, 4]) {
  await setK(large, at);
  await compareRule(large, at, many, "--labels", join(folder, "labels.npy"));
}
await large.context().close();

// --- scores without labels -------------------------------------------------------------------------------------------
run("score", predictions, "-o", join(folder, "scores.npz"), "-q");
run("report", join(folder, "scores.npz"), "-o", join(folder, "scores"), "--no-figures", "-q");
const bare = await open(join(folder, "scores", "report.html"));
await setK(bare, 1.37);
equal("kept, from scores", number(await text(bare, "#kept")), json("decide", predictions, "-k", "1.37").kept);
check(
  "no risk without labels",
  (await bare.locator("#risk").count()) === 0 && (await bare.locator("#target-risk").count()) === 0,
);
await bare.context().close();

await browser.close();
check("the console stayed clean and nothing was asked of a network", complaints.length === 0, complaints.slice(0, 5));
console.log(
  `first contentful paint ${timing.toFixed(0)} ms, an answer to the slider ${took.toFixed(0)} ms ` +
    `(N = ${labels.length})`,
);
finish();
