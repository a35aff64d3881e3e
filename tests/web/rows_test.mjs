// Pages whose rows are no samples: labels of samples (multilabel), sites of images, and more rows than a page holds one
// by one. Their figures are those of `vargate decide` at every k; images show what the maps hold.
//   node tests/web/rows_test.mjs VARGATE CHROMIUM FOLDER NODE_MODULES [SCREENSHOTS]
import { execFileSync } from "node:child_process";
import { mkdirSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { check, equal, finish, folder, launch, number, openPage, screenshots } from "./checks.mjs";
import { setK, settle, text, until, vargate } from "./checks.mjs";
import { npy } from "./inputs.mjs";

const root = resolve(".");
const program = resolve(vargate);
const run = (tool, ...args) => execFileSync(tool, args, { cwd: folder, encoding: "utf8", maxBuffer: 1 << 28 });
const json = (...args) => JSON.parse(run(program, ...args, "--json", "-q"));
const complaints = [];
const browser = await launch();
const open = (name, options) => openPage(browser, complaints, resolve(folder, name, "report.html"), options);
async function compare(page, k, ...decide) {
  const d = json("decide", ...decide, "-k", String(k));
  await setK(page, k);
  equal(`kept at k = ${k}`, number(await text(page, "#kept")), d.kept);
  equal(`to a person at k = ${k}`, number(await text(page, "#abstained")), d.abstained);
  equal(`errors caught at k = ${k}`, number((await text(page, "#caught")).split(" of ")[0]), d.abstained_errors);
  return d;
}
/** At a phone's width nothing is wider than the screen; pictures of both colour schemes. */
async function look(page, name) {
  for (const width of [1280, 390]) {
    await page.setViewportSize({ width, height: 900 });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    check(`${name}: nothing is wider than ${width}`, wide <= width, wide);
    for (const scheme of screenshots ? ["light", "dark"] : []) {
      mkdirSync(screenshots, { recursive: true });
      await page.emulateMedia({ colorScheme: scheme });
      await page.screenshot({ path: join(screenshots, `${name}-${width}-${scheme}.png`), fullPage: true });
    }
  }
  await page.setViewportSize({ width: 1280, height: 900 });
}

// --- labels of samples -----------------------------------------------------------------------------------------------
const multilabel = [join(root, "data/example-multilabel.npz"), "--multilabel"];
run(program, "report", ...multilabel, "-o", "labels", "--no-figures", "-q");
let page = await open("labels");
for (const k of [1, 0.5, 2.75]) await compare(page, k, ...multilabel);
const whole = JSON.parse(run(program, "evaluate", ...multilabel, "--json", "-q"));
equal("accuracy", await text(page, "#accuracy"), `${(100 * whole.accuracy).toFixed(2)} %`);
equal("all labels right", await text(page, "#subset"), `${(100 * whole.subset_accuracy).toFixed(2)} %`);
const advised = (found) => `Use ${found.advice.measure.use} to find errors`;
check("the advice is that of evaluate", (await text(page, "#advice-text")).startsWith(advised(whole)));
const rows = await page.locator("#class-table tbody tr").allTextContents();
equal("a row per label", rows.length, 6);
check("labels have their names", rows[0].startsWith("amazed"), rows[0]);
check("and positives", rows[0].startsWith("amazed54"), rows[0]); // as `vargate evaluate` counts them
check("the command decides labels", (await text(page, "#command")).includes("--multilabel"));
equal("sets at three alphas", await page.locator("#sets-lac tbody tr").count(), 3);
await setK(page, 1);
const decided = json("decide", ...multilabel, "-k", "1");
run(program, "decide", ...multilabel, "-k", "1", "-q", "-o", "decided.csv");
const lines = run("cat", "decided.csv").trim().split("\n");
const heads = lines[0].split(",");
const places = heads.flatMap((head, i) => (head.startsWith("decision_") && !head.includes("name") ? [i] : []));
const complete = lines.slice(1).filter((line) => places.every((i) => Number(line.split(",")[i]) >= 0)).length;
equal("samples with every label answered", await text(page, "#whole"), `${complete} of ${decided.n}`);
await page.locator("#cases").scrollIntoViewIfNeeded();
await until(page, () => document.querySelectorAll("#case-table tbody tr").length > 0);
await page.fill("#case-search", "happy wrong");
await settle(page);
const cases = await page.locator("#case-table tbody tr").allTextContents();
check("cases are found by label", cases.length > 0 && cases.every((line) => line.includes("happy")), cases[0]);
await look(page, "labels");

// --- sites of images -------------------------------------------------------------------------------------------------
const sites = (...args) => run("python3", join(root, "tests/cli/make_sites.py"), ...args);
sites("pred.npy", "MNCHW", "f4");
sites("labels.npy", "labels");
const photo = Buffer.alloc(3 * 10 * 14); // twice the size of the maps, grey
photo.forEach((_, i) => (photo[i] = (i * 7) % 256));
writeFileSync(join(folder, "photo.npy"), npy("|u1", [3, 10, 14], photo));
const common = ["pred.npy", "--axes", "MNCHW", "--labels", "labels.npy", "--ignore", "255", "--renormalise"];
const shown = ["--images", "photo.npy", "--class-names", "road,tree,sky,<b>sea</b>"];
run(program, "report", ...common, ...shown, "-o", "sites", "--no-figures", "-q");
page = await open("sites");
await page.locator("#maps").scrollIntoViewIfNeeded();
for (const k of [1, 2, 3, 0.1]) {
  const d = await compare(page, k, ...common);
  const captions = await page.locator("#maps figcaption").allTextContents();
  for (const [i, image] of d.images.entries()) {
    const wanted = `Image ${i}: ${(100 * image.abstained).toFixed(2)} % of ${image.sites} sites go to a person`;
    check(`image ${i} at k = ${k}`, captions.includes(wanted), captions);
  }
}
const evaluated = json("evaluate", ...common);
equal("mIoU", await text(page, "#miou"), evaluated.miou.toPrecision(4));
check("so is that of images", (await text(page, "#advice-text")).startsWith(advised(evaluated)));
/** Sites of the left canvases: left out, abstained from (a chequer with dark squares), all. Each is 5 x 7 sites. */
const colours = () =>
  page.evaluate(() => {
    const counts = { grey: 0, dark: 0, all: 0 };
    for (const canvas of document.querySelectorAll("canvas[aria-label^=classes]")) {
      const zoom = canvas.width / 7;
      for (let site = 0; site < (canvas.height / zoom) * 7; site++) {
        const [x, y] = [(site % 7) * zoom, Math.floor(site / 7) * zoom];
        const { data } = canvas.getContext("2d").getImageData(x, y, zoom, zoom);
        const has = (v) => data.some((_, i) => i % 4 === 0 && data[i] === v && data[i + 1] === v && data[i + 2] === v);
        counts.grey += has(150);
        counts.dark += has(20);
        counts.all++;
      }
    }
    return counts;
  });
await setK(page, 1);
const painted = await colours();
equal("every site is drawn", painted.all, 105);
equal("sites left out are grey", painted.grey, evaluated.ignored);
equal("sites that go to a person are dark", painted.dark, evaluated.rule["1"].abstained);
await setK(page, 10000);
check("more are dark at a larger k", (await colours()).dark > painted.dark, await colours());
await page.locator("#maps input[type=checkbox]").uncheck();
await settle(page);
equal("none without the overlay", (await colours()).dark, 0);
await page.selectOption("#map-layer", "photo");
await settle(page);
const first = await page.evaluate(() => {
  const canvas = document.querySelector('canvas[aria-label="classes of image 0"]');
  const zoom = canvas.width / 7;
  const at = (site) => [(site % 7) * zoom, Math.floor(site / 7) * zoom];
  return Array.from({ length: 35 }, (_, i) => canvas.getContext("2d").getImageData(...at(i), 1, 1).data[0]);
});
const grey = (y, x) => photo[(2 * y + 1) * 14 + 2 * x + 1];
const differs = Array.from({ length: 35 }, (_, i) => i).filter(
  (i) => first[i] !== grey(Math.floor(i / 7), i % 7) && first[i] !== 150,
);
equal("the image lies under the sites", differs.length, 0);
equal("names are no markup", await page.locator("#maps-legend b").count(), 0);
check("the legend names classes", (await text(page, "#maps-legend")).includes("<b>sea</b>"));
check("the command writes maps", (await text(page, "#command")).endsWith("--maps decisions"));
equal("no single sites as cases", await page.locator("#cases").count(), 0);
await look(page, "sites");

// --- more rows than a page holds one by one --------------------------------------------------------------------------
const many = 1_000_500;
const values = new Float32Array(many * 4);
for (let i = 0; i < many; i++) {
  const a = ((i * 7919) % 1000) / 1000;
  const b = ((i * 104729) % 997) / 997;
  values.set([a, 1 - a, b, 1 - b], 4 * i);
}
writeFileSync(join(folder, "many.npy"), npy("<f4", [many, 2, 2], Buffer.from(values.buffer)));
writeFileSync(join(folder, "many-labels.npy"), npy("|u1", [many], Buffer.alloc(many).fill(1, 0, many / 3)));
const large = ["many.npy", "--labels", "many-labels.npy"];
run(program, "report", ...large, "-o", "many", "--no-figures", "-q");
check("the page stays small", statSync(join(folder, "many/report.html")).size < 6e6);
page = await open("many");
for (const k of [1, 3]) await compare(page, k, ...large);
await setK(page, 0.5012345); // not in the list: the nearest that is
const snapped = Number(await page.inputValue("#k-number"));
check("k is one that is counted", snapped !== 0.5012345 && Math.abs(snapped - 0.5) < 0.05, snapped);
await compare(page, snapped, ...large);
const table = await page.locator("#class-table tbody tr").allTextContents();
equal("a row per class", table.length, 2);

equal("no complaints and no requests", complaints.filter((c) => !c.includes("willReadFrequently")).join("; "), "");
await browser.close();
finish();
