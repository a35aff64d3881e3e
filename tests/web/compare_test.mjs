// The page that compares runs: a table that sorts, and the curves of the runs laid over each other.
//   node tests/web/compare_test.mjs VARGATE CHROMIUM FOLDER NODE_MODULES [SCREENSHOTS]
import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { check, equal, finish, folder, launch, screenshots, vargate } from "./checks.mjs";

const browser = await launch();
const complaints = [];
async function open(name, ...inputs) {
  execFileSync(resolve(vargate), ["report", ...inputs, "-q", "-o", join(folder, name)], { encoding: "utf8" });
  const page = await (await browser.newContext({ viewport: { width: 1200, height: 900 } })).newPage();
  page.on("console", (message) => complaints.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => complaints.push(String(error)));
  await page.goto(`file://${resolve(folder, name, "report.html")}`);
  if (screenshots) {
    mkdirSync(screenshots, { recursive: true });
    await page.screenshot({ path: join(screenshots, `compare-${name}.png`), fullPage: true });
  }
  return page;
}
const state = (page) =>
  page.evaluate(() => ({
    names: [...document.querySelectorAll("tbody tr td:first-child")].map((cell) => cell.childNodes[1].textContent),
    best: [...document.querySelectorAll("th")].map(
      (_, i) => document.querySelectorAll(`tbody tr td.best:nth-child(${i + 1})`).length,
    ),
    plots: [...document.querySelectorAll("#plots h2")].map((heading) => heading.textContent),
    lines: [...document.querySelectorAll("svg")].map((svg) =>
      [...svg.querySelectorAll("polyline")].map((line) => line.textContent),
    ),
    // Marks that stick out of the picture would be cut off.
    cut: [...document.querySelectorAll("svg text")]
      .filter((text) => {
        const inner = text.getBoundingClientRect(),
          outer = text.closest("svg").getBoundingClientRect();
        return inner.left < outer.left || inner.right > outer.right || inner.bottom > outer.bottom;
      })
      .map((text) => text.textContent),
  }));

// Stored runs, without predictions: the courses of their trainings.
const stored = await open("stored", "results/cifar10-lle", "results/cifar10-mcd");
let seen = await state(stored);
equal("curves", seen.plots.join(), "Diversity over the epochs,Validation accuracy over the epochs");
equal("a line for every run", seen.lines[0].join(), "cifar10-lle,cifar10-mcd");
equal("no mark is cut off", seen.cut.join(), "");
check(
  "at most one best in a column",
  seen.best.every((count) => count <= 1),
  seen.best.join(),
);
const begin = seen.names;
for (const down of [false, true]) {
  await stored.click("th:nth-child(4) button"); // ECE
  const order = await stored.evaluate(() =>
    [...document.querySelectorAll("tbody tr td:nth-child(4)")].map((cell) => parseFloat(cell.textContent)),
  );
  const sorted = [...order].sort((a, b) => (down ? b - a : a - b));
  equal(`sorted by ECE, ${down ? "largest" : "smallest"} first`, order.join(), sorted.join());
}
seen = await state(stored);
equal("the same rows", [...seen.names].sort().join(), [...begin].sort().join());

// Predictions, the same file twice: two rows and two lines that can be told apart.
const example = "data/example-predictions.npz";
seen = await state(await open("files", example, example));
equal("names", seen.names.join(), "example-predictions.npz,example-predictions.npz (2)");
equal("curves of predictions", seen.plots.join(), "Risk against coverage");
equal("lines of predictions", seen.lines[0].length, 2);
equal("no mark of it is cut off", seen.cut.join(), "");
equal("complaints of the browser", complaints.join("; "), "");
await browser.close();
finish();
