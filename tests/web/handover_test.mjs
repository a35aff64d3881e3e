// The page as something to hand over: its state in the address, the command that repeats the decision, notes, ids, the
// table of classes, and the switch between a promise and what was observed. Figures are compared with the command's.
//   node tests/web/handover_test.mjs VARGATE CHROMIUM FOLDER NODE_MODULES [SCREENSHOTS]
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { check, equal, finish, folder, launch, number, openPage, screenshots } from "./checks.mjs";
import { text, until, vargate } from "./checks.mjs";
import { digitLabels, writeLines } from "./inputs.mjs";

const run = (...args) =>
  execFileSync(resolve(vargate), args, {
    cwd: folder,
    encoding: "utf8",
    maxBuffer: 1 << 28,
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, SOURCE_DATE_EPOCH: "1763319900" },
  });
const json = (...args) => JSON.parse(run(...args, "--json", "-q"));

// --- inputs ---------------------------------------------------------------------------------------------------------
const names = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "=nine"];
const hostileId = "<img src=x onerror=window.hacked=1>";
const plain = join(folder, "plain.jsonl");
writeLines(plain, digitLabels(), 8, 10, 1);
const lines = readFileSync(plain, "utf8").trim().split("\n");
const named = lines.map((line, i) => {
  const id = i === 3 ? hostileId : `scan-${1000 + i}`;
  return JSON.stringify({ id, ...JSON.parse(line), ...(i === 0 ? { classes: names } : {}) });
});
const file = "it's named.jsonl"; // needs quotes in a shell
writeFileSync(join(folder, file), `${named.join("\n")}\n`);
run("report", file, "-o", "page", "--no-figures", "-q");
const page_path = join(folder, "page", "report.html");

const browser = await launch();
const complaints = [];
const open = (path, hash = "", options = {}) => openPage(browser, complaints, `${resolve(path)}${hash}`, options);
const settle = (page) => page.waitForTimeout(500); // the address follows when things have come to rest
async function setK(page, k) {
  await page.fill("#k-number", String(k));
  await page.press("#k-number", "Enter");
}

// --- where the page comes from --------------------------------------------------------------------------------------
const page = await open(page_path);
const version = run("--version").split(" ")[1];
equal("the date", await text(page, "#created"), "2025-11-16 19:05 UTC");
check(
  "the version",
  (await text(page, "#versions")).startsWith(`vargate ${version}, page `),
  await text(page, "#versions"),
);
equal("the command", await text(page, "#made-by"), `vargate report 'it'\\''s named.jsonl' -o page --no-figures -q`);
equal("nothing changed: no address", await page.evaluate(() => location.hash), "");

// --- the command repeats the decisions ------------------------------------------------------------------------------
await setK(page, 1.37);
await settle(page);
const command = await text(page, "#command");
equal("the command to copy", command, `vargate decide 'it'\\''s named.jsonl' -k 1.37 -o decisions.csv`);
execFileSync("sh", ["-c", `vargate() { "${resolve(vargate)}" "$@"; }; ${command} -q`], { cwd: folder });
const decided = readFileSync(join(folder, "decisions.csv"), "utf8").trim().split("\n").slice(1);
const kept = decided.filter((line) => line.split(",")[2] !== "-1").length;
equal("the command decides as the page", number(await text(page, "#kept")), kept);
await page.click("#command-copy");
await until(page, () => document.querySelector("#command-status").textContent !== "");
equal("says that it copied", await text(page, "#command-status"), "copied");
await page.focus("#notes");
await page.keyboard.press("Control+V");
equal("what was copied", await page.inputValue("#notes"), command);

// --- the state in the address -------------------------------------------------------------------------------------
const note = "Board, 16 Nov: \u201ck = 1.37\u201d & 100 % <b>sure</b>?\nAgain in May #7";
await page.fill("#notes", note);
await page.click("#class-table thead th:last-child button");
await page.locator("#cases").scrollIntoViewIfNeeded();
await page.selectOption("#case-filter", "wrong");
await page.fill("#case-search", "scan-1");
await page.click('nav a[href="#cases"]');
await settle(page);
const address = await text(page, "#address");
check("the address names the file and the section", address.startsWith("report.html#cases&"), address);
equal(
  "the browser's address is the same",
  await page.evaluate(() => location.hash),
  address.slice("report.html".length),
);
const shown = async (view) => ({
  k: await view.inputValue("#k-number"),
  kept: await text(view, "#kept"),
  command: await text(view, "#command"),
  notes: await view.inputValue("#notes"),
  classes: await view.locator("#class-table tbody").innerText(),
  filter: await view.inputValue("#case-filter"),
  search: await view.inputValue("#case-search"),
  risk: await view.inputValue("#target-risk"),
  share: await view.inputValue("#target-coverage"),
  answer: await text(view, "#target-answer"),
  promise: await view.isChecked("#promise"),
  bound: await view.isVisible("#risk-bound"),
});
const mine = await shown(page);
equal("notes are kept", mine.notes, note);
renameSync(join(folder, "page"), join(folder, "sent")); // a colleague has the file elsewhere
const sent_path = join(folder, "sent", "report.html");
const colleague = await open(sent_path, address.slice("report.html".length));
await settle(colleague);
equal("a colleague sees the same", JSON.stringify(await shown(colleague)), JSON.stringify(mine));
equal("and has the same address", await text(colleague, "#address"), address);
check(
  "and is at the same section",
  await colleague.evaluate(() => {
    const top = document.querySelector("#cases").getBoundingClientRect().top;
    return top >= -5 && top < 200;
  }),
);
check("notes are text", (await colleague.evaluate(() => window.hacked)) === undefined);
await colleague.context().close();

// Each way to choose comes back: a risk, met or not, observed or promised, and a share.
for (const hash of [
  "#risk=6",
  "#risk=0.05",
  "#k=2&risk=0.05",
  "#promise=off&risk=3",
  "#promise=off",
  "#share=90",
  "#k=0.5",
]) {
  const view = await open(sent_path, hash);
  await settle(view);
  const before = await shown(view);
  const again = await open(sent_path, await view.evaluate(() => location.hash));
  await settle(again);
  equal(`${hash} comes back`, JSON.stringify(await shown(again)), JSON.stringify(before));
  await again.context().close();
  await view.context().close();
}
// Addresses that somebody else wrote.
const usual = await open(sent_path);
const at_first = JSON.stringify(await shown(usual));
for (const hash of [
  "#k=-1",
  "#k=1e999",
  "#k=%E0%A4%A",
  "#k=<script>",
  "#risk=99&share=200",
  "#classes=__proto__",
  "#show=nothing&by=nothing",
  "#&&&==",
  "#rule",
]) {
  const view = await open(sent_path, hash);
  await settle(view);
  equal(`${hash} changes nothing`, JSON.stringify(await shown(view)), at_first);
  await view.context().close();
}
const flooded = await open(sent_path, `#notes=${"x".repeat(100000)}`);
equal("notes have a length", (await flooded.inputValue("#notes")).length, 2000);
await flooded.context().close();
// A new address in the same window.
await usual.evaluate(() => (location.hash = "#k=3&notes=second"));
await settle(usual);
equal(
  "a new address is followed",
  `${await usual.inputValue("#k-number")} ${await usual.inputValue("#notes")}`,
  "3 second",
);
await usual.context().close();

// --- a promise, or what was observed ---------------------------------------------------------------------------------
const view = await open(sent_path);
await view.fill("#target-risk", "3");
await settle(view);
const promised = await text(view, "#target-answer");
await view.uncheck("#promise");
await settle(view);
const observed = await text(view, "#target-answer");
const k = Number(await view.inputValue("#k-number"));
const d = json("decide", file, "-k", String(k));
check(
  "observed: says that it is no promise",
  observed.includes("no promise for new cases") && observed !== promised,
  observed,
);
equal("observed: kept", number(await text(view, "#kept")), d.kept);
check("observed: the risk among these samples", 1 - d.kept_accuracy <= 0.03 + 1e-12, d.kept_accuracy);
check(
  "observed: nothing that answers more is as good",
  [0.9, 0.99, 0.999].every((share) => {
    const more = json("decide", file, "-k", String(k * share));
    return more.kept === d.kept || 1 - more.kept_accuracy > 0.03 || more.kept < d.kept;
  }),
);
check("no bound without a promise", !(await view.isVisible("#risk-bound")));
await view.check("#promise");
await settle(view);
equal("the promise comes back", await text(view, "#target-answer"), promised);
await view.fill("#target-risk", "6");
await settle(view);
const line = await text(view, "#policy");
execFileSync("sh", ["-c", `vargate() { "${resolve(vargate)}" "$@"; }; ${line} -q`], { cwd: folder, stdio: "pipe" });
const saved = JSON.parse(readFileSync(join(folder, "policy.json"), "utf8"));
equal("the policy that is saved has the page's k", String(saved.k), await view.inputValue("#k-number"));
equal(
  "and is applied as the page decides",
  json("decide", file, "--policy", "policy.json").kept,
  number(await text(view, "#kept")),
);
await setK(view, 2);
await settle(view);
check("no policy without a promise", !(await view.isVisible("#policy")));
await view.fill("#target-risk", "3");
await settle(view);
check("and the bound", await view.isVisible("#risk-bound"));

// --- class by class, against evaluate --------------------------------------------------------------------------------
await setK(view, 2);
await settle(view);
const evaluation = json("evaluate", file, "-k", "2");
const rows = await view.evaluate(() =>
  [...document.querySelectorAll("#class-table tbody tr")].map((tr) => [...tr.children].map((cell) => cell.textContent)),
);
equal("a row per class", rows.length, 10);
const share = (v) => (v === null ? "\u2013" : `${(100 * v).toFixed(2)} %`);
for (const [c, row] of rows.entries()) {
  const e = evaluation.per_class[c];
  const answered = e.support - evaluation.rule["2"].abstained_by_label[c];
  equal(
    `class ${c}`,
    row.slice(0, 4).join("|"),
    [names[c], String(e.support), share(e.recall), share(e.precision)].join("|"),
  );
  check(`F1 of class ${c}`, Math.abs(Number(row[4]) - e.f1) < 1e-3 * e.f1, row[4]);
  check(`answered of class ${c}`, row[5].startsWith(`${answered} (`), { row, answered });
}
equal(
  "wrong of the answered, all classes",
  rows.reduce((sum, row) => sum + parseInt(row[6], 10), 0),
  evaluation.rule["2"].kept_errors,
);
await view.click("#class-table thead th:nth-child(3) button");
await settle(view);
equal(
  "sorted by recall",
  await text(view, "#class-table tbody th"),
  names[evaluation.per_class.map((e, c) => [e.recall, c]).sort((a, b) => a[0] - b[0] || a[1] - b[1])[0][1]],
);
equal("aria-sort of classes", await view.getAttribute("#class-table thead th:nth-child(3)", "aria-sort"), "ascending");

// --- ids ------------------------------------------------------------------------------------------------------------
await view.locator("#cases").scrollIntoViewIfNeeded();
await view.fill("#case-search", "scan-1017");
await settle(view);
equal("a case is found by its id", await text(view, "#case-cards .card h3"), "scan-1017");
const [download] = await Promise.all([view.waitForEvent("download"), view.click("#case-export")]);
const exported = readFileSync(await download.path(), "utf8").split("\r\n");
check(
  "ids are exported",
  exported[0].startsWith("sample,id,label,") && exported[1].startsWith("17,scan-1017,"),
  exported.slice(0, 2),
);
await view.fill("#case-search", "onerror");
await settle(view);
equal("an id is text", await text(view, "#case-cards .card h3"), hostileId);
check("and does not run", (await view.evaluate(() => window.hacked)) === undefined);

// --- on paper -------------------------------------------------------------------------------------------------------
await view.fill("#notes", "a note for the file");
await view.fill("#target-risk", "6");
await settle(view);
await view.emulateMedia({ media: "print" });
await view.setViewportSize({ width: 688, height: 1000 });
for (const id of [
  "#notes-paper",
  "#command",
  "#address",
  "#created",
  "#versions",
  "#made-by",
  "#target-answer",
  "#class-table",
])
  check(`${id} is printed`, await view.isVisible(id));
for (const id of ["#notes", "#command-copy", "#promise", "#target-risk"])
  check(`${id} is not`, !(await view.isVisible(id)));
check("paper is not exceeded", (await view.evaluate(() => document.documentElement.scrollWidth)) <= 688);
if (screenshots) {
  mkdirSync(screenshots, { recursive: true });
  await view.screenshot({ path: join(screenshots, "handover-paper.png"), fullPage: true });
}
await view.context().close();

// --- scores: there is no command, and no ids -------------------------------------------------------------------------
run("score", file, "-o", "scores.npz", "-q");
run("report", "scores.npz", "-o", "scores", "--no-figures", "-q");
const bare = await open(join(folder, "scores", "report.html"), "#k=1.37&notes=n");
await settle(bare);
check("no command of scores", (await bare.locator("#command").count()) === 0);
equal("the state of scores", await bare.inputValue("#k-number"), "1.37");
equal("classes of scores are the predicted", await text(bare, "#class-table thead th:nth-child(2)"), "predicted");
await bare.context().close();

await browser.close();
check("the console stayed clean and nothing was asked of a network", complaints.length === 0, complaints.slice(0, 5));
finish();
