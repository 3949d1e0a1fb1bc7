/**
 * What a browser shows to somebody without the token: what this is, and where the link is. One response without scripts
 * or further requests, because everything else is behind the token. Programs get the same refusal as text.
 */
import { createHash } from "node:crypto";
import type { Context } from "hono";

/** A card in the middle of the window, in both themes. */
export const cardStyle = `
:root { color-scheme: light dark; }
body { display: grid; place-items: center; min-height: 100vh; margin: 0; padding: 24px; box-sizing: border-box;
  background: light-dark(#f3f5f7, #0e1318); color: light-dark(#17212b, #e4eaf0);
  font: 16px/1.6 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", "DejaVu Sans", sans-serif; }
main { max-width: 34em; padding: 28px 32px; border: 1px solid light-dark(#dde3e9, #28333e); border-radius: 16px;
  background: light-dark(#ffffff, #161e26); }
h1 { margin: 0 0 12px; font-size: 22px; line-height: 1.3; }
p { margin: 12px 0 0; }
code { padding: .1em .35em; border-radius: 5px; background: light-dark(#f1f4f7, #0f161d); font-size: .9em; }
`;
const style = `${cardStyle}
.reason { color: light-dark(#8f5a00, #f0bb63); font-weight: 600; }
`;

const policy = `default-src 'none'; style-src 'sha256-${createHash("sha256").update(style).digest("base64")}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

/** `reason` is the first sentence of the page; `text` is the whole answer for programs. */
export function refuse(
  context: Context,
  status: 401 | 403,
  { reason, text, canSignIn = false }: { reason: string; text: string; canSignIn?: boolean },
) {
  context.header("Cache-Control", "no-store");
  context.header("Vary", "Accept");
  const signIn = canSignIn ? `With an account, sign in at ${new URL("/sign-in", context.req.url).href}\n` : "";
  if (context.req.header("accept")?.includes("text/html") !== true) return context.text(text + signIn, status);
  context.header("Content-Security-Policy", policy);
  return context.html(pageFor(reason, canSignIn), status);
}

function pageFor(reason: string, canSignIn: boolean): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>This page is private</title>
<style>${style}</style>
</head>
<body>
<main>
<h1>This page is private</h1>
<p class="reason">${reason}</p>
<p>Remora is an agent that a team talks to and that asks before it does anything risky.
To come in, open the whole link to this page, which ends in <code>?token=…</code>; this browser then remembers it.
Remora prints the link each time it starts, so if you don't have it, ask the person who runs it.</p>
${canSignIn ? '<p>You have an account? <a href="/sign-in">Sign in</a></p>' : ""}
</main>
</body>
</html>
`;
}
