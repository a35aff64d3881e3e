// What the browser tests share: their arguments, the browser, and checks that are counted.
import { createRequire } from "node:module";
import { join, resolve } from "node:path";

export const [, , vargate, chromiumPath, folder, modules, screenshots] = process.argv;
export const { chromium } = createRequire(join(resolve(modules), "x.js"))("playwright-core");

let passed = 0;
let failed = 0;
export function check(what, ok, found = "") {
  if (ok) passed++;
  else {
    failed++;
    console.log(`FAILED: ${what}${found === "" ? "" : `: ${JSON.stringify(found)}`}`);
  }
}
export const equal = (what, found, expected) => check(what, found === expected, { found, expected });
/** The last line, and the exit status. */
export function finish() {
  console.log(`${passed} passed, ${failed} failed`);
  process.exit(failed ? 1 : 0);
}

/** Waits until `predicate` holds in the page. Playwright's waitForFunction evaluates text there when it has to ask
 *  again, which the page's content security policy forbids. */
export async function until(page, predicate) {
  const end = Date.now() + 30000;
  while (!(await page.evaluate(predicate))) {
    if (Date.now() > end) throw new Error(`not true within 30 s: ${predicate}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Starts the browser, offline as far as its options allow. */
export const launch = () =>
  chromium.launch({
    executablePath: chromiumPath,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });

/** Opens a page from disk and waits until it is drawn; what the browser complains of, and every request that leaves the
 *  machine, is added to `complaints`. */
export async function openPage(browser, complaints, address, options = {}) {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 900 },
    acceptDownloads: true,
    ...options,
  });
  const page = await context.newPage();
  page.on("console", (message) => complaints.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("request", (request) => {
    if (!/^(file|blob|data):/.test(request.url())) complaints.push(`request ${request.url()}`);
  });
  await page.goto(`file://${address}`);
  await until(page, () => document.querySelector("#coverage")?.textContent);
  return page;
}

export const text = (page, selector) => page.locator(selector).first().textContent();
export const number = (s) => Number(s.replace(/[^0-9.eE+-]/g, ""));
/** Waits until the page has drawn what changed. */
export const settle = (page) =>
  page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
/** Types a k, as a user does. */
export async function setK(page, k) {
  await page.fill("#k-number", String(k));
  await page.press("#k-number", "Enter");
  await settle(page);
}
