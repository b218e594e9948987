// The page around the two tabs: Play, and Write a bot.

import { toggleTheme } from "./dom.js";
import { setText } from "./elements.js";
import { keepProgramsFor } from "./memory.js";
import { listen } from "./python.js";

const TABS = { play: () => import("./play_tab.js"), write: () => import("./write_tab.js") }; // each exports `fill(panel)`
const shown = new Set();

/** Show a tab; its content is made the first time. */
function open(name) {
  for (const each of Object.keys(TABS)) {
    const tab = document.getElementById(`tab-${each}`);
    tab.setAttribute("aria-selected", String(each === name));
    tab.tabIndex = each === name ? 0 : -1;
    document.getElementById(each).hidden = each !== name;
  }
  if (shown.has(name)) return;
  shown.add(name);
  document.querySelector(".late")?.remove();
  TABS[name]().then((tab) => tab.fill(document.getElementById(name)));
}

for (const name of Object.keys(TABS)) {
  const tab = document.getElementById(`tab-${name}`);
  tab.onclick = () => {
    history.replaceState(null, "", `#${name}`);
    open(name);
  };
  tab.onkeydown = ({ key }) => {
    if (!["ArrowLeft", "ArrowRight"].includes(key)) return;
    const other = document.getElementById(name === "play" ? "tab-write" : "tab-play");
    other.click();
    other.focus();
  };
}
document.getElementById("shade").onclick = toggleTheme;
listen(({ text, ready }) => setText(document.getElementById("python"), ready ? "" : text));

/** Return the login of the ladder that serves this page, "" if no user is signed in, null if it doesn't answer. */
async function findLogin() {
  try {
    const answer = await fetch("/api/account", { signal: AbortSignal.timeout(5_000) });
    if (answer.ok) return (await answer.json()).user.login;
    return answer.status < 500 ? "" : null;
  } catch {
    return null;
  }
}

if (location.pathname.startsWith("/playground/")) keepProgramsFor(await findLogin());
const follow = () => open(location.hash && !location.hash.startsWith("#play") ? "write" : "play"); // also with a program in the address
addEventListener("hashchange", follow);
follow();
