// Builds the page: src/*.ts and style.css bundled into index.html -> ../src/report/report_template.html.
// The template records a digest of its sources, so that a test without npm can tell whether it is up to date.
//   node build.mjs           write the template
//   node build.mjs --check   fail when the template differs from what would be written
import { createHash } from "node:crypto";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const target = join(here, "..", "src", "report", "report_template.html");

/** The digest of tests/report/test_report_template.sh: over the lines "SHA256  NAME" of every source, by name. */
function sourceDigest() {
  const names = [
    "build.mjs",
    "index.html",
    "package-lock.json",
    "style.css",
    ...readdirSync(join(here, "src")).map((n) => `src/${n}`),
  ];
  const lines = names.sort().map((name) => {
    const digest = createHash("sha256")
      .update(readFileSync(join(here, name)))
      .digest("hex");
    return `${digest}  ${name}\n`;
  });
  return createHash("sha256").update(lines.join("")).digest("hex");
}

async function bundle(entry, loader) {
  const result = await build({
    entryPoints: [join(here, entry)],
    bundle: true,
    minify: true,
    write: false,
    format: "iife",
    target: "es2020",
    charset: "utf8",
    legalComments: "inline",
    loader,
  });
  return result.outputFiles[0].text;
}

const script = (await bundle("src/main.ts", {})).replace(/<\/script/gi, "<\\/script");
const style = (await bundle("style.css", {})).replace(/<\/style/gi, "<\\/style");
// The policy of the page lets this script and this style run, by their digests, and nothing else that is inline.
const hash = (text) => `sha256-${createHash("sha256").update(text).digest("base64")}`;
const page = readFileSync(join(here, "index.html"), "utf8")
  .replace("SOURCE-DIGEST", () => sourceDigest())
  .replace("SCRIPT-HASH", () => hash(script.trim()))
  .replace("STYLE-HASH", () => hash(style.trim()))
  .replace("/*STYLE*/", () => style.trim())
  .replace("/*SCRIPT*/", () => script.trim());

if (process.argv.includes("--check")) {
  if (readFileSync(target, "utf8") !== page) {
    console.error("src/report/report_template.html is not what web/ builds: run npm run build in web/");
    process.exit(1);
  }
  console.log("report_template.html is up to date");
} else {
  writeFileSync(target, page);
  console.log(`report_template.html: ${page.length} characters`);
}
