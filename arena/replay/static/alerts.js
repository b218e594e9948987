// Alerts for a player: sounds, browser notifications, and a count in the title.

import { remember, remembered } from "./memory.js";
import { h } from "./preact.min.js";

// Of each sound its tones: [frequency in Hz, start and length in seconds].
const SOUNDS = {
  turn: [[660, 0, 0.16], [880, 0.13, 0.3]],
  challenge: [[392, 0, 0.14], [392, 0.17, 0.14], [370, 0.34, 0.35]],
  lost: [[294, 0, 0.2], [196, 0.18, 0.5]],
  end: [[523, 0, 0.18], [659, 0.16, 0.18], [784, 0.32, 0.6]],
};

const title = document.title;

/** `volume`: 0 to 100; `notifies`: whether the player wants notifications; `missed`: alerts since the page was last seen. */
export const alerts = { volume: Number(remembered("volume") ?? 0), notifies: remembered("notify") === "on", missed: 0, open: false };

document.addEventListener("visibilitychange", () => {
  if (!document.hidden) alerts.missed = 0;
  updateTitle();
});

export function setVolume(volume) {
  alerts.volume = volume;
  remember("volume", String(volume));
  if (volume) playSound("turn");
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
  updateTitle();
  if (calls) playSound("turn");
}

/** Play the sound of the events that are shown now; of none, that of the end of the game. */
export function playEventSound(events) {
  const words = events.map(({ event }) => event);
  const found = words.length ? ["lost", "challenge"].find((word) => words.includes(word)) : "end";
  if (found) playSound(found);
}

/** The offer of sounds and notifications, which a player sees once; `done()` follows the choice. */
export function offerView(done) {
  const button = (text, volume, notifies) =>
    h("button", { onclick: async () => {
      if (volume) setVolume(volume);
      if (notifies) await notify(true);
      done();
    } }, text);
  return [h("p", {}, "Do you want to hear when it is your turn?"), button("Sounds", 50, false), button("Sounds and notifications", 50, true), button("No, thanks", 0, false)];
}

/** Show in the title whether a request is open. */
export function markTitle(open) {
  alerts.open = open;
  updateTitle();
}

function updateTitle() {
  const text = `${alerts.missed ? `(${alerts.missed}) ` : ""}${alerts.open ? "● " : ""}${title}`;
  if (document.title !== text) document.title = text;
}

function playSound(sound) {
  if (!alerts.volume) return;
  const audio = new AudioContext();
  const tones = SOUNDS[sound].map(([frequency, start, length]) => {
    const tone = audio.createOscillator();
    const loudness = audio.createGain();
    const from = audio.currentTime + start;
    tone.type = "triangle";
    tone.frequency.value = frequency;
    loudness.gain.setValueAtTime(0, from);
    loudness.gain.linearRampToValueAtTime((0.25 * alerts.volume) / 100, from + 0.02);
    loudness.gain.exponentialRampToValueAtTime(0.0001, from + length);
    tone.connect(loudness).connect(audio.destination);
    tone.start(from);
    tone.stop(from + length);
    return tone;
  });
  tones.at(-1).onended = () => audio.close();
}
