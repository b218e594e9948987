// Alerts for a player: a sound, browser notifications, and a count in the title.

import { h, say } from "./dom.js";
import { remember, remembered } from "./memory.js";

export class Alerts {
  constructor() {
    this.title = document.title;
    this.missed = 0; // alerts since the page was last seen
    this.open = false; // whether a request is open
    this.volume = h("input", { type: "range", min: 0, max: 100, step: 5, "aria-label": "Sound volume", value: remembered("volume") ?? 0 });
    this.volume.onchange = () => this.set(Number(this.volume.value));
    this.notifies = h("input", { type: "checkbox", checked: remembered("notify") === "on", onchange: () => this.allow() });
    this.soundButton = h("button", { class: "tool", onclick: () => this.toggle() });
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden) this.missed = 0;
      this.count();
    });
    this.set(Number(this.volume.value), false);
  }

  set(volume, audible = true) {
    this.volume.value = volume;
    remember("volume", String(volume));
    say(this.soundButton, volume ? "Sound on" : "Sound off");
    this.soundButton.setAttribute("aria-pressed", String(volume > 0));
    if (audible && volume) beep(volume / 100);
  }

  toggle() {
    this.set(Number(this.volume.value) ? 0 : 50);
  }

  async allow() {
    if (this.notifies.checked && "Notification" in window) this.notifies.checked = (await Notification.requestPermission()) === "granted";
    remember("notify", this.notifies.checked ? "on" : "off");
  }

  /** Alert the player to something new; `calls`: whether they have to act. */
  alert(text, calls) {
    if (document.hidden) {
      this.missed += 1;
      if (this.notifies.checked && "Notification" in window && Notification.permission === "granted") new Notification("Coup", { body: text, tag: "coup" });
    }
    this.count();
    if (calls && Number(this.volume.value)) beep(Number(this.volume.value) / 100);
  }

  /** Show in the title whether a request is open. */
  mark(open) {
    this.open = open;
    this.count();
  }

  count() {
    const text = `${this.missed ? `(${this.missed}) ` : ""}${this.open ? "● " : ""}${this.title}`;
    if (document.title !== text) document.title = text;
  }
}

function beep(volume) {
  const audio = new AudioContext();
  const tone = audio.createOscillator();
  const loudness = audio.createGain();
  loudness.gain.setValueAtTime(0.2 * volume, audio.currentTime);
  loudness.gain.exponentialRampToValueAtTime(0.0001, audio.currentTime + 0.3);
  tone.frequency.value = 660;
  tone.connect(loudness).connect(audio.destination);
  tone.start();
  tone.stop(audio.currentTime + 0.3);
  tone.onended = () => audio.close();
}
