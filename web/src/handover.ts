// What a colleague needs: the command that repeats the decision, the address that opens the page in this state,
// notes, and where the page comes from.
import { addressHash, changed, inAddress, onAddress } from "./address";
import { many, meta } from "./data";
import { h, section } from "./dom";
import { count, date } from "./format";
import { getK, getPromise, onK } from "./rule";

const LONGEST_NOTE = 2000;

/** Copies a text: by the browser's clipboard, or, where a page from disk may not use it, by a selection. */
async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const box = h("textarea", { class: "away", "aria-hidden": "true" });
    box.value = text;
    document.body.append(box);
    box.select();
    const done = document.execCommand("copy");
    box.remove();
    return done;
  }
}

/** A line of text with a button that copies it. */
function copied(
  id: string,
  label: string,
  button: string,
  text: () => string,
): { host: HTMLElement; draw: () => void } {
  const code = h("code", { id, tabindex: 0 });
  const status = h("span", { class: "status-text", role: "status", id: `${id}-status` });
  const press = async (): Promise<void> => {
    status.textContent = (await copy(text())) ? "copied" : "cannot copy here: select the line";
    setTimeout(() => (status.textContent = ""), 4000);
  };
  return {
    host: h(
      "div",
      { class: "line" },
      h("span", { class: "what" }, label),
      code,
      h("button", { type: "button", class: "quiet", id: `${id}-copy`, onclick: () => void press() }, button),
      status,
    ),
    draw: () => {
      code.textContent = text();
      status.textContent = "";
    },
  };
}

const fileName = (): string => decodeURIComponent(location.pathname.split("/").pop() || "report.html");

function notes(): HTMLElement {
  const box = h("textarea", {
    id: "notes",
    rows: 3,
    maxlength: LONGEST_NOTE,
    placeholder: "why this k, who decided, what to look at again",
  });
  const left = h("span", { class: "hint", id: "notes-left" });
  const paper = h("p", { class: "paper-notes", id: "notes-paper" }); // a box on paper would cut long notes
  const draw = (): void => {
    left.textContent = box.value ? `${count(LONGEST_NOTE - box.value.length)} characters left` : "";
    paper.textContent = box.value;
  };
  box.addEventListener("input", () => {
    draw();
    changed();
  });
  inAddress(
    "notes",
    () => box.value || null,
    (text) => {
      box.value = text.slice(0, LONGEST_NOTE);
      draw();
    },
  );
  return h("div", { class: "notes" }, h("label", { for: "notes" }, "Notes, kept in the address"), box, left, paper);
}

function origin(): HTMLElement {
  const digest = document.querySelector('meta[name="vargate-source"]')?.getAttribute("content") ?? "";
  const list: [string, string | null, string][] = [
    ["Made", meta.created ? date(meta.created) : null, "created"],
    ["By", `vargate ${meta.version}, page ${digest.slice(0, 12)}`, "versions"],
    ["Command", meta.command, "made-by"],
  ];
  return h(
    "dl",
    { class: "facts" },
    ...list
      .filter(([, value]) => value)
      .map(([name, value, id]) =>
        h("div", {}, h("dt", {}, name), h("dd", { id }, name === "Command" ? h("code", {}, value) : value)),
      ),
  );
}

export function handover(): HTMLElement {
  const command = copied("command", "These decisions", "Copy the command", () =>
    meta.decide ? `${meta.decide} -k ${getK()} ${meta.sites ? "--maps decisions" : "-o decisions.csv"}` : "",
  );
  const policy = copied("policy", "This promise", "Copy the policy's", () => {
    const promise = getPromise();
    return meta.policy && promise ? `${meta.policy} --target-risk ${promise.target} --save policy.json` : "";
  });
  const address = copied("address", "This state", "Copy the address", () => `${fileName()}${addressHash()}`);
  onK(() => {
    command.draw();
    policy.draw();
    policy.host.hidden = !getPromise() || !meta.policy;
    changed();
  });
  onAddress(address.draw);
  return section(
    "handover",
    "Hand over",
    "Send this file with the address below: who opens it, offline too, sees this k, these notes and these tables. " +
      (meta.decide ? `The command writes the decisions of all ${many}. ` : "") +
      (meta.policy && meta.promise
        ? "Where k was chosen for a promised risk, a second command saves it as policy.json, which " +
          "vargate decide --policy policy.json applies to other files."
        : ""),
    meta.decide ? command.host : null,
    policy.host,
    address.host,
    notes(),
    origin(),
  );
}
