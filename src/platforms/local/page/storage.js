/** Remembers small things in this browser. If the browser stores nothing, they are forgotten with the tab. */

export function remembered(name) {
  try {
    return localStorage.getItem(`remora.${name}`) ?? undefined;
  } catch {
    return undefined;
  }
}

export function remember(name, value) {
  try {
    localStorage.setItem(`remora.${name}`, value);
  } catch {
    // The browser forbids storage for this page.
  }
}
