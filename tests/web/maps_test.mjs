// The page of maps: images with what the rule abstains from at k laid over. Its figures are those of the command at
// every k, and the pixels of the canvases are what the maps hold.
//   node tests/web/maps_test.mjs VARGATE CHROMIUM FOLDER NODE_MODULES [SCREENSHOTS]
import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { check, chromium, chromiumPath, equal, finish, folder, screenshots, until, vargate } from "./checks.mjs";

const root = resolve(".");
const run = (program, ...args) => execFileSync(program, args, { cwd: folder, encoding: "utf8", maxBuffer: 1 << 28 });
const sites = (...args) => run("python3", join(root, "tests/cli/make_sites.py"), ...args);
sites("pred.npy", "MNCHW", "f4");
sites("labels.npy", "labels");
const common = ["pred.npy", "--axes", "MNCHW", "--labels", "labels.npy", "--ignore", "255", "--renormalise", "-q"];
const classes = "road,tree,sky,<b>sea</b>";
run(resolve(vargate), "score", ...common, "--maps", "maps", "--classes", classes);
const decided = (k) => JSON.parse(run(resolve(vargate), "decide", ...common, "-k", String(k), "--json"));

const browser = await chromium.launch({
  executablePath: chromiumPath,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"],
});
const complaints = [];
const page = await (await browser.newContext({ viewport: { width: 1200, height: 900 } })).newPage();
page.on("console", (message) => {
  const own = message.text().includes("willReadFrequently"); // this test reads the pixels again and again
  if (!own) complaints.push(`${message.type()}: ${message.text()}`);
});
page.on("pageerror", (error) => complaints.push(String(error)));
page.on("request", (request) => {
  if (!/^(file|blob|data):/.test(request.url())) complaints.push(`request ${request.url()}`);
});
await page.goto(`file://${resolve(folder, "maps/maps.html")}`);
await until(page, () => document.querySelectorAll("figure").length === 3);

const setK = (step) =>
  page.evaluate((value) => {
    const slider = document.getElementById("k");
    slider.value = value;
    slider.dispatchEvent(new Event("input"));
  }, String(step));
const state = () =>
  page.evaluate(() => ({
    k: document.getElementById("value").textContent,
    kept: document.getElementById("kept").textContent,
    captions: [...document.querySelectorAll("figcaption")].map((caption) => caption.textContent),
  }));

equal("the page begins with the first k", (await state()).k, "1.00");
for (const step of [1, 10, 20, 47, 100]) {
  await setK(step);
  const shown = await state();
  const wanted = decided(step * 0.05);
  equal(`kept at step ${step}`, shown.kept, `${(100 * wanted.coverage).toFixed(2)} % of the sites shown are kept`);
  for (const [number, image] of wanted.images.entries()) {
    const text = `Image ${number}: ${(100 * image.abstained).toFixed(2)} % of ${image.sites} sites abstain`;
    check(`image ${number} at step ${step}`, shown.captions.includes(text), shown.captions);
  }
  const shares = shown.captions.map((text) => Number(text.split(" ")[2]));
  check(
    `order at step ${step}`,
    shares.every((share, i) => i === 0 || share <= shares[i - 1]),
    shares,
  );
}

// Pixels: as many dark ones as sites abstain, as many grey ones as are left out, none dark without the overlay.
const colours = () =>
  page.evaluate(() => {
    const counts = { dark: 0, grey: 0 };
    for (const canvas of document.querySelectorAll("canvas[aria-label^=classes]")) {
      const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
      for (let i = 0; i < pixels.length; i += 4) {
        const [r, g, b] = pixels.slice(i, i + 3);
        counts.dark += r === g && g === b && r <= 60;
        counts.grey += r === 150 && g === 150 && b === 150;
      }
    }
    return counts;
  });
await setK(20);
const at1 = decided(1);
equal("abstained pixels", (await colours()).dark, at1.abstained);
equal("pixels left out", (await colours()).grey, at1.ignored);
await page.locator("#overlay").uncheck();
equal("no overlay", (await colours()).dark, 0);
await page.locator("#overlay").check();
const legend = await page.locator("#legend").textContent();
for (const word of ["abstained", "left out", "road", "<b>sea</b>", "gmu"])
  check(`the legend names ${word}`, legend.includes(word), legend);
equal("names are no markup", await page.locator("#legend b").count(), 0);

await page.setViewportSize({ width: 390, height: 800 });
const wide = await page.evaluate(() => document.documentElement.scrollWidth);
check("nothing is wider than a phone", wide <= 390, wide);
if (screenshots) {
  mkdirSync(screenshots, { recursive: true });
  await page.screenshot({ path: join(screenshots, "maps-phone.png"), fullPage: true });
  await page.setViewportSize({ width: 1200, height: 900 });
  await page.screenshot({ path: join(screenshots, "maps.png"), fullPage: true });
}
equal("no complaints and no requests", complaints.join("; "), "");
await browser.close();
finish();
