/** Helpers for building the page: elements, buttons, avatars and times. */

/** `properties` contains attributes, `on…` listeners, and `text`. An attribute that is false or undefined is left out. */
export function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (value === undefined || value === false || value === null) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key === "text") made.textContent = value;
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== undefined && child !== null && child !== false));
  return made;
}

/** A button with a text or, given as children, with more. */
export function button(text, properties, ...children) {
  return element("button", { type: "button", class: "button", text, ...properties }, ...children);
}

export function iconButton(label, sign, onclick) {
  return button(undefined, { class: "icon-button", "aria-label": label, title: label, onclick }, icon(sign));
}

const strokes = {
  attach: "M12 5v14M5 12h14",
  edit: "M4 20l1-4L16 5l3 3L8 19zM14 7l3 3",
  remove: "M5 7h14M10 7V5h4v2M7 7l1 13h8l1-13M10.5 11v5.5M13.5 11v5.500",
  close: "M6 6l12 12M18 6L6 18",
  copy: "M9 9h10v11H9zM15 9V5H5v11h4",
};

/** Draws the icon as SVG, because not every font has these symbols. */
function icon(name) {
  const space = "http://www.w3.org/2000/svg";
  const picture = document.createElementNS(space, "svg");
  picture.setAttribute("viewBox", "0 0 24 24");
  picture.setAttribute("class", "icon");
  picture.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(space, "path");
  path.setAttribute("d", strokes[name]);
  picture.append(path);
  return picture;
}

export function byId(id) {
  return document.getElementById(id);
}

export function avatar(person, isSmall = false) {
  const size = isSmall ? " small" : "";
  if (person.isBot) {
    const picture = element("img", { src: "/local/page/remora.svg", alt: "" });
    return element("span", { class: `avatar${size}`, "aria-hidden": "true" }, picture);
  }
  const tone = [...person.id].reduce((sum, letter) => sum + (letter.codePointAt(0) ?? 0), 0) % 6;
  const initial = [...person.name][0] ?? "?";
  return element("span", {
    class: `avatar${size} tone-${tone}`,
    "aria-hidden": "true",
    text: initial.toLocaleUpperCase(),
  });
}

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const full = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "short" });
const dayName = new Intl.DateTimeFormat(undefined, { weekday: "long", day: "numeric", month: "long" });

export function timeOf(at, className = "message-time") {
  const date = new Date(at);
  return element("time", {
    class: className,
    datetime: date.toISOString(),
    title: full.format(date),
    text: clock.format(date),
  });
}

export function dayOf(at) {
  const day = new Date(at).toDateString();
  if (day === new Date().toDateString()) return "Today";
  if (day === new Date(Date.now() - 86_400_000).toDateString()) return "Yesterday";
  return dayName.format(new Date(at));
}

export function durationText(ms) {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return seconds % 60 === 0 ? `${minutes} min` : `${minutes} min ${seconds % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export function sizeOf(bytes) {
  if (bytes < 1000) return `${bytes} B`;
  return bytes < 1_000_000 ? `${(bytes / 1000).toFixed(bytes < 10_000 ? 1 : 0)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}
