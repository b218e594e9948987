// The connection of a table's page to its match: a WebSocket, or, without a path, a lesson or the enclosing page.

import { read } from "./dom.js";
import { LessonLine } from "./lessons.js";

export function openLine(path) {
  const scheme = location.protocol.endsWith("s:") ? "wss:" : "ws:";
  const lessons = read("lessons");
  if (lessons) return new LessonLine(lessons);
  return path ? new WebSocket(`${scheme}//${location.host}${path}`) : new ParentLine();
}

class ParentLine {
  onclose; onmessage; onopen; // of the page
  readyState = WebSocket.OPEN;

  constructor() {
    addEventListener("message", ({ source, data }) => source === parent && this.onmessage({ data: JSON.stringify(data) }));
    setTimeout(() => this.onopen());
  }

  send(text) {
    parent.postMessage(text, location.origin);
  }
}
