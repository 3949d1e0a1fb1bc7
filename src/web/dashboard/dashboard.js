/**
 * The shell: navigation, one open page, and a line that tells what an action did. A page is a function that gets a
 * context and returns its view; the view is rendered again after each change, and lit-html changes only what differs.
 */
import { html, nothing, render } from "./lit.js";
import { isAtLeast, loadMe, me } from "./me.js";
import { routes } from "./pages.js";
import { act, openSession } from "./session.js";

const tickMs = 1_000;
const root = document.getElementById("app");
let open;
let said = { text: "", isAccepted: true };
let isRendering = false;

function readAddress() {
  const [path = "", query = ""] = location.hash.replace(/^#\/?/, "").split("?", 2);
  const [name = "", ...rest] = path.split("/");
  return { name, id: rest.length === 0 ? undefined : decode(rest.join("/")), query: new URLSearchParams(query) };
}

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function update() {
  if (isRendering) return;
  isRendering = true;
  queueMicrotask(() => {
    isRendering = false;
    render(shell(), root);
  });
}

function say(text, isAccepted = true) {
  said = { text, isAccepted };
  update();
}

function navigate() {
  const address = readAddress();
  const route = routes.find(
    ({ name, hasId, least }) => name === address.name && hasId === (address.id !== undefined) && isAtLeast(least),
  );
  if (open !== undefined && open.route === route && open.context.id === address.id) {
    open.context.query = address.query;
    open.session.refreshAll();
    update();
    return;
  }
  const isFirst = open === undefined;
  open?.session.close();
  said = { text: "", isAccepted: true };
  const session = openSession(update);
  const context = {
    id: address.id,
    query: address.query,
    watch: session.watch,
    refresh: session.refreshAll,
    update,
    say,
  };
  open = { route, session, context, view: route?.open(context) ?? missing };
  document.title = `${route?.title ?? "Not found"} · Remora`;
  update();
  if (!isFirst) {
    scrollTo(0, 0);
    queueMicrotask(() => document.getElementById("title")?.focus());
  }
  // On a narrow screen, the navigation scrolls.
  queueMicrotask(() => document.querySelector('nav [aria-current="page"]')?.scrollIntoView({ block: "nearest" }));
}

function missing() {
  return html`<p class="none">There is no such page. <a href="#/">Go to the first page</a></p>`;
}

function shell() {
  const problem = open.session.problem();
  const { route, view } = open;
  return html`
    <a class="skip" href="#main" @click=${skip}>Skip to the page</a>
    <header>
      <p class="name">Remora</p>
      <nav aria-label="Dashboard">
        ${routes
          .filter(({ isListed, least }) => isListed && isAtLeast(least))
          .map(
            ({ name, title }) =>
              html`<a href=${`#/${name}`} aria-current=${isCurrent(name) ? "page" : "false"}>${title}</a>`,
          )}
        ${me.identity === null ? html`<a href="/">Chat</a>` : nothing}
      </nav>
      ${me.identity === null ? nothing : account()}
    </header>
    <main id="main" tabindex="-1">
      <h1 id="title" tabindex="-1">${route?.title ?? "Not found"}</h1>
      <p class="banner" role="alert" ?hidden=${problem === undefined}>${problem === undefined ? nothing : `Out of date: ${problem}`}</p>
      <p class="said ${said.isAccepted ? "" : "refused"}" role="status">${said.text}</p>
      ${view()}
    </main>`;
}

/** The identity is what approver rules and the audit log name. */
function account() {
  return html`
    <details class="account">
      <summary>${me.name}</summary>
      <div>
        <p>Signed in as <code>${me.identity}</code>, with the role ${me.role}.</p>
        <p>To ask Remora something, write to it in Slack or Discord. Its chat page opens only at the machine where it runs.</p>
        <button type="button" @click=${() => signOut("/sign-out")}>Sign out</button>
        <button type="button" @click=${() => signOut("/sign-out/everywhere")}>Sign out on all devices</button>
      </div>
    </details>`;
}

async function signOut(path) {
  const { accepted, text } = await act(path, {});
  if (accepted) location.assign("/sign-in");
  else say(text, false);
}

function isCurrent(name) {
  return open.route?.name === name;
}

/** The hash is the address of a page, so the link must not change it. */
function skip(event) {
  event.preventDefault();
  document.getElementById("main").focus();
}

const problem = await loadMe();
addEventListener("hashchange", navigate);
setInterval(() => document.visibilityState === "visible" && update(), tickMs);
navigate();
if (problem !== undefined) say(problem, false);
