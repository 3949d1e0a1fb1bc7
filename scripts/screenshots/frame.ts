/** The page around drawn messages, in the colours of Slack or Discord. */
import { escapeHtml } from "./escape.ts";

export interface Drawn {
  author: string;
  time: string;
  html: string;
}

export interface ListedSession {
  title: string;
  status: string | undefined;
  hasStop: boolean;
  isOpen: boolean;
}

/** About as Slack's clients say it. */
const statusWords: Record<string, string> = {
  processing: "Working…",
  suspended: "Needs your input",
  active: "Ready",
  closed: "Closed",
};

const colours = {
  slack: {
    light:
      "--back:#fff;--text:#1d1c1d;--muted:#616061;--line:#ddd;--code:#f6f6f6;--mention:#e8f5fa;--link:#1264a3;--accent:#007a5a",
    dark: "--back:#1a1d21;--text:#d1d2d3;--muted:#ababad;--line:#3b3d41;--code:#232529;--mention:#1d3a4a;--link:#4fb3e0;--accent:#007a5a",
  },
  discord: {
    light:
      "--back:#fff;--text:#313338;--muted:#5c5e66;--line:#e0e1e5;--code:#f2f3f5;--mention:#e6e8fd;--link:#006ce7;--accent:#5865f2",
    dark: "--back:#313338;--text:#dbdee1;--muted:#949ba4;--line:#3f4147;--code:#2b2d31;--mention:#3c4270;--link:#00a8fc;--accent:#5865f2",
  },
} as const;

const css = `
* { box-sizing: border-box } body { margin: 0; padding: 16px; background: var(--back); color: var(--text); font: 15px/1.46 "Open Sans", Lato, sans-serif }
.message { display: flex; gap: 10px; margin: 0 0 14px; max-width: 720px } .avatar { flex: 0 0 36px; height: 36px; border-radius: 6px; background: #4a6; color: #fff; display: grid; place-items: center; font-weight: 700 }
.body { flex: 1; min-width: 0 } .head b { margin-right: 6px } .head small, .context, small { color: var(--muted); font-size: 12.5px }
p { margin: 2px 0 } pre { background: var(--code); border: 1px solid var(--line); border-radius: 4px; padding: 8px; overflow: auto; white-space: pre-wrap; font-size: 12.5px; margin: 4px 0 }
code { background: var(--code); border-radius: 3px; padding: 0 3px; font-size: 12.5px } pre code { padding: 0 }
.actions { display: flex; flex-wrap: wrap; align-items: start; gap: 8px; margin: 6px 0 } .button { position: relative; border: 1px solid var(--line); border-radius: 6px; padding: 4px 12px; font-weight: 600; font-size: 14px; white-space: nowrap }
.discord .avatar { border-radius: 50%; background: #5865f2 } .discord .tag { background: #5865f2; color: #fff } .discord .button { background: var(--code) } .button.primary, .button.success, .discord .button.primary { background: var(--accent); color: #fff } .button.danger { background: #e01e5a; color: #fff }
.button.success, .discord .button.success { background: #248046; color: #fff } .discord .button.danger { background: #da373c; color: #fff } .menu { display: none } .menu-open .menu { display: block; flex: 0 0 100%; border: 1px solid var(--line); border-radius: 6px; padding: 4px 0; max-width: 260px } .menu span { display: block; padding: 3px 12px } .icon { border: 1px solid var(--line); border-radius: 6px; padding: 2px 8px }
.mention { background: var(--mention); color: var(--link); border-radius: 3px; padding: 0 2px } a { color: var(--link) } hr { border: 0; border-top: 1px solid var(--line) }
.embed { border: 1px solid var(--line); border-left: 4px solid; border-radius: 6px; padding: 8px 12px; margin: 4px 0; max-width: 560px } .section { display: flex; justify-content: space-between; gap: 12px; align-items: start }
.plan { border: 1px solid var(--line); border-radius: 6px; padding: 8px } .unknown { color: #c00 } .caption { color: var(--muted); font-weight: 700; margin: 18px 0 6px; font-size: 13px } .caption:empty { display: none }
ul { margin: 2px 0; padding-left: 20px } h1, h2, h3 { font-size: 16px; margin: 4px 0 } .file { border: 1px solid var(--line); border-radius: 6px; padding: 6px 10px; margin: 4px 0; display: inline-block } .head .tag { background: var(--line); border-radius: 3px; font-size: 10px; padding: 0 4px; margin-right: 6px }
.step { display: grid; grid-template-columns: 280px 1fr; gap: 20px; align-items: start } .row { display: flex; justify-content: space-between; gap: 8px; align-items: center; padding: 6px 10px; border-radius: 6px; font-size: 14px; line-height: 1.35 } .row.open { background: var(--mention) } .row > div { min-width: 0 }
.row .processing { color: var(--link) } .row .suspended { color: #e01e5a; font-weight: 600 } .stop { flex: none; border: 1px solid var(--line); border-radius: 6px; padding: 2px 8px; font-size: 12px; font-weight: 600 }`;

export function framePage(
  service: "slack" | "discord",
  theme: "light" | "dark",
  groups: readonly { caption: string; messages: readonly Drawn[] /** With the menus open. */; isOpen?: boolean }[],
): string {
  const body = groups
    .map(
      ({ caption, messages, isOpen }) =>
        `<div class="caption">${escapeHtml(caption)}</div><div${isOpen === true ? ' class="menu-open"' : ""}>${messages.map(messageHtml).join("")}</div>`,
    )
    .join("");
  return pageHtml(service, theme, body);
}

function pageHtml(service: "slack" | "discord", theme: "light" | "dark", body: string): string {
  return `<!doctype html><html lang="en"><meta charset="utf-8"><style>:root{${colours[service][theme]}}${css}</style><body class="${service}">${body}</body></html>`;
}

/** Slack's list of sessions beside the thread that is open, once for each step. */
export function sessionsPage(
  theme: "light" | "dark",
  steps: readonly { caption: string; rows: readonly ListedSession[]; messages: readonly Drawn[] }[],
): string {
  const body = steps
    .map(
      ({ caption, rows, messages }) =>
        `<div class="caption">${escapeHtml(caption)}</div><div class="step"><div>${rows.map(rowHtml).join("")}</div><div>${messages.map(messageHtml).join("")}</div></div>`,
    )
    .join("");
  return pageHtml("slack", theme, body);
}

function rowHtml({ title, status, hasStop, isOpen }: ListedSession): string {
  const stop = hasStop ? '<span class="stop">■ Stop</span>' : "";
  const words = statusWords[status ?? ""] ?? "";
  return `<div class="row${isOpen ? " open" : ""}"><div><div>${escapeHtml(title)}</div><small class="${status}">${escapeHtml(words)}</small></div>${stop}</div>`;
}

function messageHtml({ author, time, html }: Drawn): string {
  const tag = author === "Remora" ? '<span class="tag">APP</span>' : "";
  return `<div class="message"><div class="avatar">${escapeHtml(author.slice(0, 1))}</div><div class="body"><div class="head"><b>${escapeHtml(author)}</b>${tag}<small>${escapeHtml(time)}</small></div>${html}</div></div>`;
}
