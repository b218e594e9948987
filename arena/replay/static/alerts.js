// Alerts for a player: a sound, browser notifications, and a count in the title.

import { remember, remembered } from "./memory.js";

const title = document.title;

/** `volume`: 0 to 100; `notifies`: whether the player wants notifications; `missed`: alerts since the page was last seen. */
export const alerts = { volume: Number(remembered("volume") ?? 0), notifies: remembered("notify") === "on", missed: 0, open: false };

document.addEventListener("visibilitychange", () => {
  if (!document.hidden) alerts.missed = 0;
  count();
});

export function setVolume(volume) {
  alerts.volume = volume;
  remember("volume", String(volume));
  if (volume) beep(volume / 100);
}

/** Ask the browser for notifications if they are wanted. */
export function notify(wanted) {
  const asked = wanted && "Notification" in window ? Notification.requestPermission() : Promise.resolve("granted");
  return asked.then((given) => {
    alerts.notifies = wanted && given === "granted";
    remember("notify", alerts.notifies ? "on" : "off");
  });
}

/** Alert the player to something new; `calls`: whether they have to act. */
export function alertTo(text, calls) {
  if (document.hidden) {
    alerts.missed += 1;
    if (alerts.notifies && "Notification" in window && Notification.permission === "granted") new Notification("Coup", { body: text, tag: "coup" });
  }
  count();
  if (calls && alerts.volume) beep(alerts.volume / 100);
}

/** Show in the title whether a request is open. */
export function mark(open) {
  alerts.open = open;
  count();
}

function count() {
  const text = `${alerts.missed ? `(${alerts.missed}) ` : ""}${alerts.open ? "● " : ""}${title}`;
  if (document.title !== text) document.title = text;
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
