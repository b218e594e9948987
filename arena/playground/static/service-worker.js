// Keeps all files of one build, so that the playground works without a network.

const NAME = "@NAME@";
const FILES = @FILES@;

addEventListener("install", (event) => {
  const requests = FILES.map((file) => new Request(file, { cache: file === "./" ? "reload" : "force-cache" }));
  event.waitUntil(caches.open(NAME).then((cache) => cache.addAll(requests)));
});

addEventListener("activate", (event) => {
  const old = (names) => names.filter((name) => name.startsWith("playground-") && name !== NAME);
  event.waitUntil(caches.keys().then((names) => Promise.all(old(names).map((name) => caches.delete(name)))).then(() => clients.claim()));
});

addEventListener("fetch", (event) => {
  if (event.request.method !== "GET") return;
  event.respondWith(caches.open(NAME).then((cache) => cache.match(event.request, { ignoreSearch: true })).then((found) => found ?? fetch(event.request)));
});
