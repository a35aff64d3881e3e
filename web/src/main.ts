// The page: its sections in order. The head is drawn first; sections below the screen are drawn when they are about to
// scroll into view.
import { followAddress } from "./address";
import { advice } from "./advice";
import { classes } from "./classes";
import { meta } from "./data";
import { h } from "./dom";
import { cases } from "./cases";
import { handover } from "./handover";
import { header } from "./header";
import { kControl, kStatus } from "./kcontrol";
import { maps } from "./maps";
import { measures } from "./measures";
import { ood, reliability, selective, training } from "./quality";
import { getK, setK } from "./rule";
import { scatter } from "./scatter";
import { sets } from "./sets";

function navigation(sections: HTMLElement[]): HTMLElement {
  const names: Record<string, string> = {
    rule: "k",
    maps: "Images",
    advice: "What to use",
    handover: "Hand over",
    classes: meta.labels ? "Labels" : "Classes",
    measures: "Measures",
    selective: "Errors",
    reliability: "Reliability",
    sets: "Sets",
    training: "Training",
    ood: "OOD",
    scatter: "Scatter",
    cases: "Cases",
  };
  return h(
    "nav",
    { "aria-label": "sections" },
    h("div", { class: "links" }, ...sections.map((s) => h("a", { href: `#${s.id}` }, names[s.id] ?? s.id))),
    kStatus(),
  );
}

const page = document.getElementById("page");
if (page) {
  const sections = [
    kControl(),
    maps(),
    advice(),
    handover(),
    measures(),
    selective(),
    classes(),
    reliability(),
    sets(),
    training(),
    ood(),
    scatter(),
    cases(),
  ].filter((s): s is HTMLElement => s !== null);
  page.replaceChildren(
    header(),
    navigation(sections),
    ...sections,
    h("footer", {}, `vargate ${meta.version} \u00b7 this file holds its data and loads nothing`),
  );
  setK(getK());
  followAddress();
}
