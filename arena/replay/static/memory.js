// What a browser remembers for a player. It may keep nothing; then each time is the first.

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
    // each time is the first
  }
}
