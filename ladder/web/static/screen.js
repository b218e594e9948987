// A revealed final's table on a projector, from its last row to its first: a row at a key or a click, or one after the other.
const EACH_MS = 2_500;
let timer = null;

function next() {
  const row = [...document.querySelectorAll(".screen tbody tr:not(.shown)")].pop();
  if (!row) return finish();
  row.classList.add("shown");
  row.scrollIntoView({ block: "center" });
}

// After the first row: the podium, and the decisive match, which plays by itself.
function finish() {
  clearInterval(timer);
  const finale = document.querySelector(".finale");
  finale.classList.add("shown");
  const frame = finale.querySelector("iframe");
  if (frame && !frame.src) frame.src = frame.dataset.src;
  finale.scrollIntoView({ block: "start" });
}

function all() {
  clearInterval(timer);
  timer = setInterval(next, EACH_MS);
  next();
}

// While a final is played: rows move to their new places, with marks since the last change, and recent games play.
const REFRESH_MS = 3_000;
const PAUSE_MS = 5_000; // after a game
const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
const board = document.getElementById("board");
const frame = document.querySelector(".featured iframe");
const rowsOf = (part) => [...part.querySelectorAll("tr[data-bot]")];
let marks = new Map();

function mark(row) {
  const by = marks.get(row.dataset.bot);
  const cell = row.querySelector(".moved");
  cell.className = `moved ${by > 0 ? "up" : "down"}`;
  cell.textContent = by ? `${by > 0 ? "▲" : "▼"}${Math.abs(by)}` : "";
}

async function refresh() {
  const response = await fetch(location.href).catch(() => null);
  if (!response?.ok) return;
  const fresh = new DOMParser().parseFromString(await response.text(), "text/html").getElementById("board");
  if (!fresh) return location.reload(); // revealed
  if (!fresh.querySelector("table") !== !board.querySelector("table")) return location.reload();
  const before = new Map(rowsOf(board).map((row, place) => [row.dataset.bot, [place, row.offsetTop]]));
  const moved = rowsOf(fresh).map((row, place) => [row.dataset.bot, (before.get(row.dataset.bot)?.[0] ?? 10) - place]);
  if (moved.some(([, by]) => by)) marks = new Map(moved);
  board.dataset.featured = fresh.dataset.featured;
  board.replaceChildren(...fresh.childNodes);
  for (const row of rowsOf(board)) {
    mark(row);
    const from = (before.get(row.dataset.bot)?.[1] ?? board.offsetHeight) - row.offsetTop;
    if (from && !still) row.animate([{ transform: `translateY(${from}px)` }, { transform: "none" }], { duration: 900, easing: "ease-in-out" });
  }
  if (frame && !frame.src) feature();
}

function feature() {
  const match = board.dataset.featured;
  if (match) frame.src = `/matches/${match}/replay?public=true&shown=${Date.now()}#play`;
}

if (board) setInterval(refresh, REFRESH_MS);
frame?.addEventListener("load", () => frame.contentDocument.addEventListener("replayend", () => setTimeout(feature, PAUSE_MS)));
if (frame) feature();

if (!board) document.documentElement.classList.add("staged");
document.addEventListener("click", (event) => {
  const stage = event.target.dataset?.stage;
  if (stage) (stage === "all" ? all : next)();
});
document.addEventListener("keydown", (event) => {
  if (event.target.matches("button, a") || event.ctrlKey || event.metaKey) return;
  if (event.key === "a") all();
  else if ([" ", "Enter", "ArrowDown", "ArrowRight", "PageDown"].includes(event.key)) next();
  else return;
  event.preventDefault();
});
