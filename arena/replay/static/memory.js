// Settings that the browser stores for a player. If it stores nothing, each visit is the first.

export function remembered(key) {
  try {
    return localStorage.getItem(`coup-${key}`);
  } catch {
    return null;
  }
}

/** Return a stored value, null if there is none or its text isn't JSON. */
export function rememberedValue(key) {
  try {
    return JSON.parse(remembered(key));
  } catch {
    return null;
  }
}

export function remember(key, value) {
  try {
    localStorage.setItem(`coup-${key}`, value);
  } catch {
    // each visit is the first
  }
}
