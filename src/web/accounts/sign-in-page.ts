/** The page to sign in: one response without scripts, because everything else needs a session. */
import { createHash } from "node:crypto";
import type { Context } from "hono";
import { html, raw } from "hono/html";
import { cardStyle } from "../visitor-page.ts";
import type { ServiceName } from "./services.ts";

export interface SignInPage {
  services: { service: ServiceName; name: string }[];
  hasPasswords: boolean;
  /** Where the person wants to go. */
  to: string;
  problem?: string;
}

const style = `${cardStyle}
main { width: min(24em, 100%); box-sizing: border-box; }
ul { margin: 20px 0 0; padding: 0; list-style: none; display: grid; gap: 10px; }
a.service, button { display: block; width: 100%; box-sizing: border-box; padding: 10px 16px; border-radius: 10px; font: inherit;
  font-weight: 600; text-align: center; text-decoration: none; cursor: pointer; }
a.service { border: 1px solid light-dark(#6b7a88, #7d8b98); color: inherit; }
button { margin-top: 18px; border: 0; background: light-dark(#17212b, #e4eaf0); color: light-dark(#ffffff, #0e1318); }
label { display: block; margin-top: 14px; font-weight: 600; }
input { display: block; width: 100%; box-sizing: border-box; margin-top: 4px; padding: 9px 12px; font: inherit; color: inherit;
  border: 1px solid light-dark(#6b7a88, #7d8b98); border-radius: 10px; background: transparent; }
:focus-visible { outline: 3px solid light-dark(#1c5fb8, #7db4ff); outline-offset: 2px; }
.problem { padding: 10px 14px; border-radius: 10px; background: light-dark(#fdeceb, #3a1c1c); color: light-dark(#8c1d18, #ffb4ab); }
form + ul, ul + form { margin-top: 20px; padding-top: 6px; border-top: 1px solid light-dark(#dde3e9, #28333e); }
form + ul { padding-top: 20px; }
`;
const styleHash = `'sha256-${createHash("sha256").update(style).digest("base64")}'`;

/** Forms may go only to this server. The policy for referrers lets the browser say where the form was. */
const policy = `default-src 'none'; img-src data:; style-src ${styleHash}; base-uri 'none'; form-action 'self'; frame-ancestors 'none'`;

export function showSignIn(context: Context, page: SignInPage, status: 200 | 400 | 401 | 403 | 429 | 502 = 200) {
  const { services, hasPasswords, to, problem } = page;
  const links = services.map(
    ({ service, name }) =>
      html`<li><a class="service" href="/sign-in/${service}?to=${encodeURIComponent(to)}">Sign in with ${name}</a></li>`,
  );
  return respond(
    context,
    status,
    html`<h1>Sign in to Remora</h1>
${problem === undefined ? "" : html`<p class="problem" role="alert">${problem}</p>`}
${links.length === 0 ? "" : html`<ul>${links}</ul>`}
${
  hasPasswords
    ? html`<form method="post" action="/sign-in/password">
<input type="hidden" name="to" value="${to}">
<label>Name<input name="name" autocomplete="username" autocapitalize="none" spellcheck="false" maxlength="32" required></label>
<label>Password<input name="password" type="password" autocomplete="current-password" maxlength="256" required></label>
<button type="submit">Sign in</button>
</form>`
    : ""
}
${links.length === 0 && !hasPasswords ? html`<p>Nobody can sign in here yet. The person who runs Remora can add an account with <code>remora accounts add NAME --role viewer</code>.</p>` : ""}`,
  );
}

/** The service knows the person, but the settings don't. The identity helps the operator to add it. */
export function showNotAdmitted(context: Context, identity: string) {
  return respond(
    context,
    403,
    html`<h1>You can't use this dashboard yet</h1>
<p>You signed in as <code>${identity}</code>, and this identity has no role here. Send it to the person who runs Remora, who can
add it to <code>web.accounts</code>.</p>
<p><a href="/sign-in">Sign in as somebody else</a></p>`,
  );
}

function respond(context: Context, status: 200 | 400 | 401 | 403 | 429 | 502, body: ReturnType<typeof html>) {
  context.header("Cache-Control", "no-store");
  context.header("Content-Security-Policy", policy);
  context.header("Referrer-Policy", "same-origin");
  return context.html(
    html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Sign in · Remora</title>
<link rel="icon" href="data:,">
<style>${raw(style)}</style>
</head>
<body>
<main>
${body}
</main>
</body>
</html>
`,
    status,
  );
}
