// A final's table on a projector, from its last row to its first: a row at a key or a click, or one after the other.
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

document.documentElement.classList.add("staged");
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
