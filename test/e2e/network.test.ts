/**
 * Commands with network access in the real process: common programs with one approval each, and what the server, the card, the
 * folder and the log show before and after.
 */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import type { IncomingHttpHeaders } from "node:http";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type ChatClient, createChatClient, type Place, type SeenMessage } from "../doubles/chat-client.ts";
import type { RemoraProcess, RunningRemora } from "../doubles/remora-process.ts";
import { npmRegistry, pythonIndex } from "../sandbox/egress/origins.ts";
import { createNetworkWorld, type NetworkWorld, type Origin } from "./network-world.ts";

const hasPip = existsSync("/usr/bin/pip");
const secret = "s3cr3t-of-the-operator-7fd1";
/** Programs that start slowly, on a busy machine. */
const slow = { timeout: 180_000 };

let world: NetworkWorld;
let remora: RemoraProcess;
/** Within this process, once that one was killed. */
let next: RunningRemora | undefined;
let ann: ChatClient;
let web: Origin;
let free: Origin;
let guarded: Origin;
const guardedSaw: IncomingHttpHeaders[] = [];

beforeAll(async () => {
  world = await createNetworkWorld();
  web = await world.serve("127.0.0.3", (request, response) => response.end(`hello ${request.url}`));
  free = await world.serve("127.0.0.4", (_request, response) => response.end("never asks"));
  guarded = await world.serveTls("127.0.0.5", ({ headers }, response) => {
    guardedSaw.push(headers);
    response.end(headers.authorization === `Bearer ${secret}` ? "welcome" : "who are you?");
  });
  const network = {
    always: [free.host, "named.test"],
    secrets: { [guarded.host]: { Authorization: "Bearer ${API_TOKEN}" } },
  };
  remora = await world.start(network, { API_TOKEN: secret });
});
afterAll(() => world.close());
beforeEach(async () => {
  ann = await createChatClient(remora.url, remora.token);
});
afterEach(() => ann.close());

const own = (name = "") => join(world.home.workspace, "files/channel:general", name);
const logged = () => remora.stdout() + remora.stderr();

function say(command: string, network: string[], place?: Place): Promise<SeenMessage> {
  const input = { command, ...(network.length === 0 ? {} : { network }) };
  return ann.say(`@remora call shell_exec ${JSON.stringify(input)}`, place);
}

/** Sends the message, checks that nothing happens before the click, clicks, and returns the answer. */
async function approved(command: string, origin: Origin, place?: Place): Promise<{ said: SeenMessage; text: string }> {
  const before = origin.connections();
  const said = await say(command, [origin.host], place);
  const card = await ann.cardFor(said);
  expect(card.card?.items).toHaveLength(1);
  expect(card.card?.items[0]?.facts?.[0]).toContain(cardLine(origin));
  expect(card.card?.items[0]?.undo).toBe("What it sends can't be taken back.");
  expect(origin.connections()).toBe(before);
  expect(await ann.click(card, "approve")).toMatchObject({ accepted: true });
  const { text } = await ann.answerTo(said);
  expect(asksIn(said)).toHaveLength(1);
  return { said, text };
}

function cardLine({ host }: Origin): string {
  const [address, port] = host.split(":");
  return `Reaches ${address}, port ${port}`;
}

/** Cards below the message, except those about changes. */
function asksIn({ id }: SeenMessage): SeenMessage[] {
  return [...ann.seen.values()].filter(
    ({ type, thread, card }) => type === "card" && thread === id && card?.items[0]?.changes === undefined,
  );
}

function connectionsLogged({ host }: Origin): Record<string, unknown>[] {
  const lines = logged()
    .split("\n")
    .filter((line) => line.includes("a command used the network"));
  const all = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  return all.filter((each) => `${each.host}:${each.port}` === host);
}

test("curl reads a page after one approval, and the connection is logged", async () => {
  const { said, text } = await approved(`curl -sS http://${web.host}/a/b?c=d | tee page.txt`, web);
  expect(text).toContain("hello /a/b?c=d");
  expect(web.requests).toEqual(["GET /a/b?c=d"]);
  const report = await ann.changesFor(said);
  expect(report.card?.items[0]?.changes?.files).toMatchObject([{ path: "page.txt", action: "added" }]);
  expect(await readFile(own("page.txt"), "utf8")).toBe("hello /a/b?c=d");
  await expect.poll(() => connectionsLogged(web)).toMatchObject([{ address: "127.0.0.3", outcome: "ended" }]);
  expect(Number(connectionsLogged(web)[0]?.bytesIn)).toBeGreaterThan("hello /a/b?c=d".length);
});

test("an unnamed host is refused, and the error says how to ask for it", async () => {
  const other = await world.serve("127.0.0.6", (_request, response) => response.end("reached"));
  const { text } = await approved(`curl -sS http://${web.host}/named && curl -fsS http://${other.host}/`, web);
  expect(text).toContain("hello /named");
  expect(text).toContain(`${other.host} is not approved for this command. Approved: ${web.host}.`);
  expect(text).toContain("call shell_exec again and name it in network as well");
  expect([other.connections(), other.requests]).toEqual([0, []]);
  await expect.poll(() => connectionsLogged(other)).toMatchObject([{ outcome: "not-approved" }]);
});

test("without network a command reaches nothing, and its result says how to request access", slow, async () => {
  const before = web.connections();
  const direct = await ann.answerTo(await say(`curl -sS --max-time 5 http://${web.host}/direct`, []));
  expect(direct.text).toContain("exit code");
  expect(direct.text).not.toContain("hello");
  expect(web.connections()).toBe(before);
  for (const command of [
    "curl -sS http://web.test/",
    "git clone -q http://git.test/project.git",
    "npm view tiny --fetch-retries=0 --cache /tmp/npm --registry http://npm.test/",
  ]) {
    const said = await say(command, []);
    const { text } = await ann.answerTo(said);
    expect([command, text]).toEqual([command, expect.stringContaining("This command has no network access.")]);
    expect(text).toContain('call shell_exec again with network: ["host"]');
    expect(asksIn(said)).toEqual([]);
  }
});

test("a denied command connects to nothing and changes nothing", async () => {
  const before = web.connections();
  const said = await say(`touch denied.txt; curl -sS http://${web.host}/denied`, [web.host]);
  expect(await ann.click(await ann.cardFor(said), "deny")).toMatchObject({ accepted: true });
  expect((await ann.answerTo(said)).text).toContain("denied by Ann");
  expect(web.connections()).toBe(before);
  expect(await readdir(own())).not.toContain("denied.txt");
});

test("the model is told about unreadable hosts, and no person is asked", async () => {
  const said = await say("curl -sS https://example.com", ["https://example.com", "*.example.com"]);
  expect((await ann.answerTo(said)).text).toContain('"https://example.com" is a URL: name only its host');
  expect(asksIn(said)).toEqual([]);
});

test("a host of sandbox.network.always never asks, but another one in the same call does", async () => {
  const said = await say(`curl -sS http://${free.host}/`, [free.host]);
  expect((await ann.answerTo(said)).text).toContain("never asks");
  expect(asksIn(said)).toEqual([]);
  expect(free.requests).toEqual(["GET /"]);
  await expect.poll(() => connectionsLogged(free)).toHaveLength(1);

  // A host without ports in the settings means 443 and 80.
  const named = await say("echo unasked", ["Named.test:443", "named.test"]);
  expect((await ann.answerTo(named)).text).toContain("unasked");
  expect(asksIn(named)).toEqual([]);

  const both = await say(`curl -sS http://${free.host}/`, [free.host, web.host]);
  const card = await ann.cardFor(both);
  expect(card.card?.items[0]?.facts?.join("\n")).toContain(cardLine(web));
  expect(await ann.click(card, "deny")).toMatchObject({ accepted: true });
  await ann.answerTo(both);
  expect(free.requests).toHaveLength(1);
});

test("a background job reaches its host after one approval", async () => {
  const input = { command: `curl -sS -o job.txt http://${web.host}/job`, network: [web.host], background: true };
  const said = await ann.say(`@remora call shell_exec ${JSON.stringify(input)}`);
  const card = await ann.cardFor(said);
  expect(web.requests).not.toContain("GET /job");
  await ann.click(card, "approve");
  expect((await ann.answerTo(said)).text).toContain("runs in the background");
  await ann.changesFor(said);
  expect(web.requests.filter((each) => each === "GET /job")).toHaveLength(1);
  expect(await readFile(own("job.txt"), "utf8")).toBe("hello /job");
});

test("git push sends one commit after one approval, and the checkout changes after a second", slow, async () => {
  const subjects = (folder: string) =>
    execFileSync("git", ["-C", folder, "log", "--format=%s", "main"], { encoding: "utf8" }).trim().split("\n");
  const { git, checkout } = world;
  const commit = "git -c user.name=t -c user.email=t@t commit -qam second";
  const { said, text } = await approved(`echo more >> README && ${commit} && git push -q && echo pushed`, git, {
    channel: "random",
  });
  expect(text).toContain("pushed");
  expect(subjects(git.bare)).toEqual(["second", "first"]);
  expect(git.requests.at(-1)).toBe("POST /project.git/git-receive-pack");
  await expect.poll(() => connectionsLogged(git).length).toBe(git.requests.length);

  const card = await ann.changesFor(said);
  expect(card).toMatchObject({ state: "waiting" });
  expect(card.card?.items[0]?.changes?.files.map(({ path }) => path)).toContain("README");
  expect([subjects(checkout), await readFile(join(checkout, "README"), "utf8")]).toEqual([["first"], "hello\n"]);
  expect(await ann.click(card, "approve")).toMatchObject({ accepted: true });
  await ann.waitFor((message) => message.id === card.id && /Kept/.test(message.card?.items[0]?.outcome ?? ""));
  expect(subjects(checkout)).toEqual(["second", "first"]);
  expect(execFileSync("git", ["-C", checkout, "status", "--porcelain"], { encoding: "utf8" })).toBe("");
});

test("npm install installs a package after one approval", slow, async () => {
  const npm = await world.serve("127.0.0.7", npmRegistry(await world.folder("npm")));
  const install = `npm install --no-audit --no-fund --no-update-notifier --cache /tmp/npm --registry http://${npm.host}/ tiny`;
  const { said, text } = await approved(
    `mkdir app && cd app && echo '{}' > package.json && ${install} && node -p 'require("tiny")'`,
    npm,
  );
  expect(text).toContain("tiny works");
  expect(npm.requests).toEqual(["GET /tiny", "GET /tiny/-/tiny-1.2.3.tgz"]);
  const paths = (await ann.changesFor(said)).card?.items[0]?.changes?.files.map(({ path }) => path);
  expect(paths).toEqual(["app/"]);
  expect(await readFile(own("app/node_modules/tiny/a.js"), "utf8")).toContain("tiny works");
});

test.skipIf(!hasPip)("pip install installs a package after one approval (needs pip)", slow, async () => {
  const python = await world.serve("127.0.0.8", pythonIndex(await world.folder("python")));
  const [address] = python.host.split(":");
  const options = `--disable-pip-version-check --no-cache-dir --target lib --trusted-host ${address}`;
  const install = `pip install ${options} --index-url http://${python.host}/simple tinypy`;
  const { said, text } = await approved(
    `${install} && PYTHONPATH=lib python3 -c 'import tinypy; print(tinypy.word)'`,
    python,
  );
  expect(text).toContain("tinypy works");
  expect(python.requests).toEqual(["GET /simple/tinypy/", "GET /files/tinypy-1.0-py3-none-any.whl"]);
  const paths = (await ann.changesFor(said)).card?.items[0]?.changes?.files.map(({ path }) => path);
  expect(paths).toEqual(["lib/"]);
  expect(await readFile(own("lib/tinypy.py"), "utf8")).toContain("tinypy works");
});

test("a secret reaches only its server, not the command, the disk, the model or the log", async () => {
  // To files, because text for people and models is redacted anyway.
  const look = "env; cat /proc/[0-9]*/environ | tr '\\0' '\\n'; cat /run/remora/*";
  const { said, text } = await approved(
    `curl -v -H 'Authorization: mine' https://${guarded.host}/ 2> curl.txt | tee answer.txt; (${look}) > seen.txt 2>&1; env`,
    guarded,
  );
  expect(asksIn(said)[0]?.card?.items[0]?.facts?.join()).toContain("requests carry this installation's Authorization");
  expect(text).toContain("welcome");
  expect(guardedSaw.map(({ authorization }) => authorization)).toEqual([`Bearer ${secret}`]);
  await ann.changesFor(said);
  expect(await readFile(own("answer.txt"), "utf8")).toBe("welcome");
  expect(await readFile(own("curl.txt"), "utf8")).toContain("Authorization: mine");
  const seen = await readFile(own("seen.txt"), "utf8");
  expect(seen).toMatch(/https_proxy=http:\/\/127\.0\.0\.1:[\s\S]*BEGIN CERTIFICATE/);
  expect(seen).not.toMatch(/API_TOKEN|PRIVATE KEY/);
  await expect.poll(() => connectionsLogged(guarded).length).toBeGreaterThan(0);
  expect([...ann.seen.values()].map((message) => JSON.stringify(message)).join()).not.toContain(secret);
  expect(world.model.requests.join()).not.toContain(secret);
  expect(logged()).not.toContain(secret);
  expect(await world.filesWith(secret)).toEqual([]);
  // Control: the search finds what the command did know.
  expect(await world.filesWith("Authorization: mine")).not.toEqual([]);
});

describe("kill -9 while a command is on the network", () => {
  test(
    "the call ends as interrupted with an unknown outcome, does not run again, and keeps nothing",
    slow,
    async () => {
      const silent = await world.serve("127.0.0.9", () => {});
      const said = await say(`touch begun.txt; curl -sS http://${silent.host}/once`, [silent.host]);
      await ann.click(await ann.cardFor(said), "approve");
      await expect.poll(() => silent.requests).toEqual(["GET /once"]);
      await remora.kill();
      ann.close();

      next = await world.startHere({ API_TOKEN: secret });
      ann = await createChatClient(next.url, next.token);
      const { text } = await ann.answerTo(said);
      expect(text).toContain("Interrupted: this call started and was then cut off, so its outcome is unknown");
      // A later turn in the same place passes through the whole process.
      await ann.answerTo(await say("ls", []));
      expect([silent.requests, silent.connections()]).toEqual([["GET /once"], 1]);
      expect(await readdir(own())).not.toContain("begun.txt");
      expect(asksIn(said)).toHaveLength(1);
    },
  );
});
