/** The proxy adds secrets to requests for their own host only, and the command never gets them. */
import { spawnSync } from "node:child_process";
import type { IncomingHttpHeaders, RequestListener } from "node:http";
import { afterEach, expect, test } from "vitest";
import { createAuthority } from "../../../src/sandbox/egress/certificates.ts";
import { createEgress } from "../../../src/sandbox/egress/egress.ts";
import { type OpenedEgress, openEgress } from "./namespace.ts";
import { gitHost, npmRegistry, pythonIndex, scratchFolder } from "./origins.ts";
import { httpServer, tlsServer } from "./servers.ts";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});
const kept = <T extends { close(): unknown }>(opened: T): T => {
  closing.push(() => opened.close());
  return opened;
};
const hasPip = spawnSync("pip", ["--version"]).status === 0;
const secret = "Bearer s3cr3t-of-the-operator";

/** A TLS server for `api.test` that answers only requests with the secret, and a session that has the secret. */
async function guarded(
  answer: RequestListener,
): Promise<{ egress: OpenedEgress; port: number; seen: IncomingHttpHeaders[] }> {
  const seen: IncomingHttpHeaders[] = [];
  const site = kept(
    await tlsServer("api.test", (request, response) => {
      seen.push(request.headers);
      if (request.headers.authorization === secret) answer(request, response);
      else response.writeHead(401).end("who are you?");
    }),
  );
  const { port } = site;
  const egress = kept(
    await openEgress(
      [`api.test:${port}`, `other.test:${port}`],
      { "api.test": "127.0.0.1", "other.test": "127.0.0.1" },
      { secrets: { [`api.test:${port}`]: { Authorization: secret } }, roots: [site.authority.certificate] },
    ),
  );
  return { egress, port, seen };
}

test("a command reaches a guarded API without holding the secret", async () => {
  const { egress, port, seen } = await guarded((_request, response) => response.end("welcome"));
  const { output } = await egress.run(
    `curl -sS -H 'authorization: mine' -H 'Authorization: too' https://api.test:${port}/; env`,
  );
  expect(output).toMatch(/^welcome/);
  expect(output).not.toContain("s3cr3t");
  expect(seen.map(({ authorization }) => authorization)).toEqual([secret]);
  await egress.session.close();
  expect(JSON.stringify([egress.logged, egress.session.connections(), egress.env])).not.toContain("s3cr3t");
});

test("git, npm, pip, node, Python and wget trust the view's certificate and get through", async () => {
  const folder = kept(scratchFolder());
  const git = gitHost(folder.path);
  const npm = npmRegistry(folder.path);
  const python = hasPip ? pythonIndex(folder.path) : npm;
  const { egress, port } = await guarded((request, response) => {
    const url = request.url ?? "";
    const serve = url.startsWith("/project.git") ? git : /^\/(?:simple|files)\//.test(url) ? python : npm;
    return url === "/" ? response.end("welcome") : serve(request, response);
  });
  const origin = `https://api.test:${port}`;
  const commands = [
    [`git clone -q ${origin}/project.git clone && cat clone/README`, "hello"],
    [
      `mkdir app && cd app && echo '{}' > package.json && npm install --no-audit --no-fund --cache ../cache --registry ${origin}/ tiny && node -p 'require("tiny")'`,
      "tiny works",
    ],
    [`${process.execPath} -e 'fetch("${origin}/").then((r) => r.text()).then(console.log)'`, "welcome"],
    [`python3 -c 'import urllib.request as u; print(u.urlopen("${origin}/").read().decode())'`, "welcome"],
    [`wget -qO- ${origin}/`, "welcome"],
    ...(hasPip
      ? [
          [
            `pip install --disable-pip-version-check --no-cache-dir --target lib --index-url ${origin}/simple tinypy && PYTHONPATH=lib python3 -c 'import tinypy; print(tinypy.word)'`,
            "tinypy works",
          ],
        ]
      : []),
  ];
  for (const [command = "", wanted] of commands) {
    const { output } = await egress.run(`cd ${folder.path} && ${command}`);
    expect(output).toContain(wanted);
  }
});

test("a redirect to another host never carries the secret", async () => {
  const seen: IncomingHttpHeaders[] = [];
  const other = kept(
    await httpServer((request, response) => {
      seen.push(request.headers);
      response.end("other");
    }),
  );
  const site = kept(
    await httpServer((_request, response) =>
      response.writeHead(307, { location: `http://other.test:${other.port}/` }).end(),
    ),
  );
  const egress = kept(
    await openEgress(
      [`gate.test:${site.port}`, `other.test:${other.port}`],
      { "gate.test": "127.0.0.1", "other.test": "127.0.0.1" },
      { secrets: { [`http://gate.test:${site.port}`]: { "X-Api-Key": "s3cr3t" } } },
    ),
  );
  expect((await egress.run(`curl -sSL http://gate.test:${site.port}/`)).output).toBe("other");
  expect(seen).toHaveLength(1);
  expect(JSON.stringify(seen)).not.toContain("s3cr3t");
});

test("plain HTTP gets a secret only where the setting says http, in place of every spelling of its name", async () => {
  const site = kept(await httpServer((request, response) => response.end(JSON.stringify(request.rawHeaders))));
  const secrets = {
    [`http://gate.test:${site.port}`]: { "X-Api-Key": "s3cr3t" },
    [`safe.test:${site.port}`]: { Authorization: "s3cr3t" },
  };
  const names = { "gate.test": "127.0.0.1", "safe.test": "127.0.0.1" };
  const egress = kept(
    await openEgress(
      Object.keys(names).map((name) => `${name}:${site.port}`),
      names,
      { secrets },
    ),
  );
  const get = async (host: string, more = "") =>
    (await egress.run(`curl -sS ${more} http://${host}:${site.port}/`)).output;
  // A server that echoes the secret can't be prevented.
  const headers = JSON.parse(
    await get("gate.test", "-H 'x_api_key: mine' -H 'X-API-KEY: mine' -H 'Connection: X-Api-Key'"),
  );
  expect(headers.filter((text: string) => /api.key/i.test(text) || text === "mine" || text === "s3cr3t")).toEqual([
    "X-Api-Key",
    "s3cr3t",
  ]);
  expect(await get("safe.test")).not.toContain("s3cr3t");
  expect((await egress.run(`curl -sS -X TRACE http://gate.test:${site.port}/`)).output).toContain(
    "TRACE is not available",
  );
});

test("a guarded host is no way to another one, by SNI, Host or a second CONNECT", async () => {
  const { egress, port, seen } = await guarded((_request, response) => response.end("welcome"));
  const wrongHost = await egress.run(`curl -sS -H 'Host: other.test:${port}' https://api.test:${port}/`);
  expect(wrongHost.output).toContain("The Host header names another host");
  const wrongName = await egress.run(
    `curl -sS --connect-to api.test:${port}:other.test:${port} https://api.test:${port}/`,
  );
  expect(wrongName.code).not.toBe(0);
  const wrongTunnel = await egress.run(
    `curl -sS --connect-to other.test:${port}:api.test:${port} https://other.test:${port}/`,
  );
  expect(wrongTunnel.code).not.toBe(0);
  expect(seen).toEqual([]);
  expect(egress.session.connections().map(({ host, outcome }) => [host, outcome])).toEqual(
    expect.arrayContaining([
      ["other.test", "wrong-name"],
      ["api.test", "wrong-name"],
      ["api.test", "bad-request"],
    ]),
  );
});

test("a server that can't prove its name gets neither the request nor the secret", async () => {
  const site = kept(await tlsServer("api.test", (_request, response) => response.end("welcome")));
  const stranger = await createAuthority();
  const egress = kept(
    await openEgress(
      [`api.test:${site.port}`],
      { "api.test": "127.0.0.1" },
      { secrets: { [`api.test:${site.port}`]: { Authorization: secret } }, roots: [stranger.certificate] },
    ),
  );
  const { output } = await egress.run(`curl -sS https://api.test:${site.port}/`);
  expect(output).toContain("a certificate is invalid or untrusted");
  expect(output).not.toContain("welcome");
});

test("the view's authority is trusted by its own session only, and openssl finds nothing wrong with it", async () => {
  const folder = kept(scratchFolder());
  const authority = await createAuthority();
  const { cert } = await authority.credentialsFor("api.test");
  const { writeFileSync } = await import("node:fs");
  writeFileSync(`${folder.path}/ca.pem`, authority.certificate);
  writeFileSync(`${folder.path}/leaf.pem`, cert);
  const verify = (...args: string[]) =>
    spawnSync("openssl", ["verify", "-x509_strict", ...args, `${folder.path}/leaf.pem`], { encoding: "utf8" });
  expect(
    verify("-CAfile", `${folder.path}/ca.pem`, "-verify_hostname", "api.test", "-purpose", "sslserver").stdout,
  ).toContain("OK");
  expect(verify("-CAfile", `${folder.path}/ca.pem`, "-verify_hostname", "other.test").status).not.toBe(0);
  expect(verify().status).not.toBe(0);
});

test("a card says which hosts get a secret, by the name of its header", () => {
  const egress = createEgress({ allow: [], secrets: { "api.github.com": { Authorization: secret } }, log() {} });
  expect(
    egress.describe([
      { host: "api.github.com", ports: [443, 80] },
      { host: "a.com", ports: [443] },
    ]),
  ).toEqual([
    "api.github.com, ports 443 (HTTPS) and 80 (HTTP); requests carry this installation's Authorization",
    "a.com, port 443 (HTTPS)",
  ]);
});

test.each([
  [{ "a.com/x": { Authorization: secret } }, "a.com/x"],
  [{ "a.com": { "Bad Name": secret } }, "Bad Name"],
  [{ "a.com": { Host: secret } }, "Host"],
  [{ "a.com": { Authorization: "s3cr3t\r\nX: y" } }, "Authorization"],
  [{ "a.com": { Authorization: "" } }, "Authorization"],
])("settings that can't work are refused by name and without their value: %#", (secrets, named) => {
  const create = () => createEgress({ allow: [], secrets: secrets as never, log() {} });
  expect(create).toThrow(named);
  expect(create).not.toThrow("s3cr3t");
});
