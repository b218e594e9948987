// Keeps all files of one build, so that the playground works without a network.

const NAME = "playground";
const FILES = @FILES@; // "./" last: it names the others

addEventListener("install", (event) => event.waitUntil(fill()));

/** Fetch what the cache lacks: the page has put there what it loaded. */
async function fill() {
  const cache = await caches.open(NAME);
  const kept = await Promise.all(FILES.map((file) => file !== "./" && cache.match(file)));
  const requests = FILES.filter((_, place) => !kept[place]).map((file) => new Request(file, { cache: file === "./" ? "reload" : "force-cache" }));
  const page = requests.pop();
  await cache.addAll(requests);
  await cache.add(page);
}

addEventListener("activate", (event) => event.waitUntil(clean().then(() => clients.claim())));

async function clean() {
  const cache = await caches.open(NAME);
  const files = FILES.map((file) => new URL(file, location).href);
  await Promise.all((await cache.keys()).filter(({ url }) => !files.includes(url)).map((request) => cache.delete(request)));
}

addEventListener("fetch", (event) => {
  event.respondWith(caches.open(NAME).then((cache) => cache.match(event.request.url.replace(/\/index\.html(?=$|[?#])/, "/"), { ignoreSearch: true })).then((found) => found ?? fetch(event.request)));
});
