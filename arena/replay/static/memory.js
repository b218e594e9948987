// Settings that the browser stores for a player. If it stores nothing, each visit is the first.

export function remembered(key) {
  try {
    return localStorage.getItem(`coup-${key}`);
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
