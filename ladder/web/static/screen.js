// A revealed final on a projector: at a key or a click its next row, from the last to the first, then the podium, then
// the decisive match, which plays by itself; or all rows one after the other, up to the podium.
const EACH_MS = 2_500;
let timer = null;

function showNext() {
  const part = [...document.querySelectorAll(".screen tr:not(.shown)")].pop() ?? document.querySelector(".finale:not(.shown)");
  if (!part?.matches("tr")) clearInterval(timer);
  if (!part) return;
  part.classList.add("shown");
  const frame = part.querySelector("iframe");
  if (frame) frame.src = frame.dataset.src;
  part.scrollIntoView({ block: part.matches("tr") ? "center" : "start" });
  history.replaceState(history.state + 1, ""); // a reload shows as many parts again
}

function showAll() {
  clearInterval(timer);
  timer = setInterval(showNext, EACH_MS);
  showNext();
}

// While a final is played: rows move to their new places, with marks since the last change, and recent games play.
const [REFRESH_MS, PAUSE_MS, MOVE_MS] = [3_000, 5_000, 900];
const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
const [board, frame] = [document.getElementById("board"), document.querySelector(".featured iframe")];
const rowsOf = (part) => [...part.querySelectorAll("[data-bot]")];
let marks = new Map();

async function refresh() {
  const text = await fetch(location.href, { signal: AbortSignal.timeout(10_000) }).then((response) => response.text(), () => "");
  const page = new DOMParser().parseFromString(text, "text/html");
  const fresh = page.getElementById("board");
  if (!fresh) return page.querySelector(".finale") && location.reload();
  const before = new Map(rowsOf(board).map((row, place) => [row.dataset.bot, [place, row.offsetTop]]));
  const moves = rowsOf(fresh).map((row, place) => [row.dataset.bot, (before.get(row.dataset.bot)?.[0] ?? 10) - place]);
  if (moves.some(([, by]) => by)) marks = new Map(moves);
  board.dataset.featured = fresh.dataset.featured;
  board.replaceChildren(...fresh.childNodes);
  for (const row of rowsOf(board)) {
    const by = marks.get(row.dataset.bot);
    const cell = row.querySelector(".moved");
    if (by) cell.classList.add(by > 0 ? "up" : "down");
    cell.textContent = by ? `${by > 0 ? "▲" : "▼"}${Math.abs(by)}` : "";
    const y = (before.get(row.dataset.bot)?.[1] ?? board.offsetHeight) - row.offsetTop;
    if (y && !still) row.animate({ translate: [`0 ${y}px`, "0 0"] }, { duration: MOVE_MS, easing: "ease" });
  }
  if (frame && !frame.src) playFeatured();
}

function playFeatured() {
  if (board?.dataset.featured) frame.src = `/matches/${board.dataset.featured}/replay?public=true&shown=${Date.now()}#play`;
}

frame?.addEventListener("load", ({ target: { contentDocument: replay } }) => {
  replay.styleSheets[0]?.insertRule(`.holds, header, .place ~ *, .odds${still ? "" : ", .controls"} { display: none !important; }`);
  replay.addEventListener("replayend", () => setTimeout(playFeatured, PAUSE_MS));
});
const refreshLater = () => setTimeout(() => refresh().finally(refreshLater), REFRESH_MS); // one answer after the other
if (board) refreshLater();
else {
  document.documentElement.classList.add("staged");
  const shown = history.state ?? 0;
  history.replaceState(0, "");
  for (let part = 0; part < shown; part += 1) showNext();
}

document.addEventListener("click", (event) => {
  const stage = event.target.dataset?.stage;
  if (stage) (stage === "all" ? showAll : showNext)();
});
document.addEventListener("keydown", (event) => {
  if (board || event.target.matches("button, a") || event.ctrlKey || event.metaKey) return;
  if (event.key === "a") showAll();
  else if ([" ", "Enter", "ArrowDown", "ArrowRight", "PageDown"].includes(event.key)) showNext();
  else return;
  event.preventDefault();
});
