/** Real programs behind the proxy, in a namespace without network. */
import { spawnSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { afterEach, describe, expect, test } from "vitest";
import { type OpenedEgress, openEgress, openNamespace } from "./namespace.ts";
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
const outcomesOf = ({ session }: OpenedEgress) =>
  session.connections().map(({ host, port, outcome }) => `${host}:${port} ${outcome}`);
const hasPip = spawnSync("pip", ["--version"]).status === 0;

test("without a session there is no way out at all", async () => {
  const site = kept(await httpServer((_request, response) => response.end("reached")));
  const namespace = kept(await openNamespace());
  const { code, output } = await namespace.run(`curl -sS --max-time 5 http://127.0.0.1:${site.port}/`);
  expect(code).not.toBe(0);
  expect(output).not.toContain("reached");
});

describe("curl", () => {
  test("reads an approved host over plain HTTP, and what went over the wire is counted", async () => {
    const site = kept(
      await httpServer(({ url, headers }, response) => response.end(`you asked for ${url} of ${headers.host}`)),
    );
    const egress = kept(await openEgress([`web.test:${site.port}`], { "web.test": "127.0.0.1" }));
    const { code, output } = await egress.run(`curl -sS 'http://web.test:${site.port}/a/b?c=d'`);
    expect([code, output]).toEqual([0, `you asked for /a/b?c=d of web.test:${site.port}`]);
    await expect.poll(() => egress.logged).toHaveLength(1);
    const [connection] = egress.logged;
    expect(connection).toMatchObject({ host: "web.test", port: site.port, address: "127.0.0.1", outcome: "ended" });
    expect(connection?.bytesIn).toBeGreaterThan(output.length);
    expect(connection?.bytesOut).toBeGreaterThan("GET /a/b?c=d".length);
    expect(egress.session.connections()).toEqual(egress.logged);
  });

  test("reads an approved host over HTTPS through a tunnel that the proxy can't read", async () => {
    const site = kept(await tlsServer("web.test", (_request, response) => response.end("secret page")));
    const egress = kept(await openEgress([`web.test:${site.port}`], { "web.test": "127.0.0.1" }));
    expect(egress.session.mounts).toEqual([]);
    const { code, output } = await egress.run(`cat > /run/ca.pem <<'END'
${site.authority.certificate}
END
curl -sS --cacert /run/ca.pem https://web.test:${site.port}/`);
    expect([code, output]).toEqual([0, "secret page"]);
  });

  test("is refused other hosts and ports, with words that say which hosts were approved", async () => {
    const site = kept(await httpServer((_request, response) => response.end("reached")));
    const names = { "web.test": "127.0.0.1", "other.test": "127.0.0.1" };
    const egress = kept(await openEgress([`web.test:${site.port}`], names));
    const plain = await egress.run(`curl -sS -w '%{http_code}' http://other.test:${site.port}/`);
    expect(plain.output).toBe(
      `other.test:${site.port} is not approved for this command. Approved: web.test:${site.port}. If the command needs it, call shell_exec again and name it in network as well. A person will be asked.\n403`,
    );
    expect((await egress.run("curl -sS https://other.test/")).output).toContain("403");
    expect((await egress.run(`curl -sS http://web.test:${site.port + 1}/`)).output).toContain("is not approved");
    expect(outcomesOf(egress)).toEqual([
      `other.test:${site.port} not-approved`,
      "other.test:443 not-approved",
      `web.test:${site.port + 1} not-approved`,
    ]);
    expect(egress.session.refusals().split("\n")).toHaveLength(3);
    expect(egress.session.refusals()).toContain("other.test:443 is not approved for this command.");
  });

  test("follows a redirect to an approved host only", async () => {
    const site = kept(
      await httpServer((request, response) => {
        if (request.url === "/here") return response.end("arrived");
        const host = request.url === "/stay" ? "web.test" : "other.test";
        response.writeHead(302, { location: `http://${host}:${site.port}/here` }).end();
      }),
    );
    const names = { "web.test": "127.0.0.1", "other.test": "127.0.0.1" };
    const egress = kept(await openEgress([`web.test:${site.port}`], names));
    expect((await egress.run(`curl -sSL http://web.test:${site.port}/stay`)).output).toBe("arrived");
    expect((await egress.run(`curl -sSL http://web.test:${site.port}/leave`)).output).toContain("other.test");
    expect(outcomesOf(egress).at(-1)).toBe(`other.test:${site.port} not-approved`);
  });

  test("uploads and downloads large bodies unchanged, with and without a length, with Expect and on one connection", async () => {
    const site = kept(
      await httpServer((request, response) => {
        const hash = createHash("sha256");
        request.on("data", (chunk) => hash.update(chunk)).on("end", () => response.end(hash.digest("hex")));
      }),
    );
    const body = randomBytes(3_000_000);
    const wanted = createHash("sha256").update(body).digest("hex");
    const egress = kept(await openEgress([`web.test:${site.port}`], { "web.test": "127.0.0.1" }));
    const url = `http://web.test:${site.port}/`;
    const child = egress.start(
      `cat > /run/body; curl -sS --data-binary @/run/body -H 'Expect: 100-continue' ${url} --next -sS -H 'Transfer-Encoding: chunked' -T /run/body ${url} --next -sS -T /run/body ${url}`,
    );
    let output = "";
    child.stdout?.on("data", (chunk) => {
      output += chunk;
    });
    child.stdin?.end(body);
    await expect.poll(() => output).toBe(wanted.repeat(3));
  });

  test("sees a server's answer as the server sent it", async () => {
    const site = kept(
      await httpServer((_request, response) => {
        response.writeHead(
          418,
          "Short And Stout",
          [
            ["set-cookie", "a=1"],
            ["Set-Cookie", "b=2"],
            ["X-Odd", "ü"],
          ].flat(),
        );
        response.end("tea");
      }),
    );
    const egress = kept(await openEgress([`web.test:${site.port}`], { "web.test": "127.0.0.1" }));
    const { output } = await egress.run(`curl -sSi http://web.test:${site.port}/`);
    expect(output).toMatch(/^HTTP\/1.1 418 Short And Stout\r\nset-cookie: a=1\r\nSet-Cookie: b=2\r\nX-Odd: /);
    expect(output.endsWith("\r\n\r\ntea")).toBe(true);
  });
});

test("git clones and pushes over smart HTTP", async () => {
  const folder = kept(scratchFolder());
  const site = kept(await httpServer(gitHost(folder.path)));
  const egress = kept(await openEgress([`git.test:${site.port}`], { "git.test": "127.0.0.1" }));
  const { code, output } = await egress.run(`set -e; cd ${folder.path}
git clone -q http://git.test:${site.port}/project.git clone && cd clone && cat README
head -c 2000000 /dev/urandom > large && git add . && git -c user.name=t -c user.email=t@t commit -qm second && git push -q`);
  expect([code, output]).toEqual([0, "hello\n"]);
  const log = spawnSync("git", ["-C", `${folder.path}/project.git`, "log", "--format=%s"], { encoding: "utf8" });
  expect(log.stdout).toBe("second\nfirst\n");
});

test("npm installs from a registry", async () => {
  const folder = kept(scratchFolder());
  const site = kept(await httpServer(npmRegistry(folder.path)));
  const egress = kept(await openEgress([`npm.test:${site.port}`], { "npm.test": "127.0.0.1" }));
  const { code, output } = await egress.run(
    `mkdir ${folder.path}/app && cd ${folder.path}/app && echo '{}' > package.json && npm install --no-audit --no-fund --cache ${folder.path}/cache --registry http://npm.test:${site.port}/ tiny && node -p 'require("tiny")'`,
  );
  expect(output).toContain("tiny works");
  expect(code).toBe(0);
});

test.skipIf(!hasPip)("pip installs from an index (needs pip)", async () => {
  const folder = kept(scratchFolder());
  const site = kept(await httpServer(pythonIndex(folder.path)));
  const egress = kept(await openEgress([`pypi.test:${site.port}`], { "pypi.test": "127.0.0.1" }));
  const { code, output } = await egress.run(
    `cd ${folder.path} && pip install --disable-pip-version-check --no-cache-dir --target lib --trusted-host pypi.test --index-url http://pypi.test:${site.port}/simple tinypy && PYTHONPATH=lib python3 -c 'import tinypy; print(tinypy.word)'`,
  );
  expect(output).toContain("tinypy works");
  expect(code).toBe(0);
});

test("node's fetch and http, Python's urllib and wget find the proxy", async () => {
  const site = kept(await httpServer((request, response) => response.end(`hello ${request.headers.host}`)));
  const egress = kept(await openEgress([`web.test:${site.port}`], { "web.test": "127.0.0.1" }));
  const url = `http://web.test:${site.port}/`;
  for (const command of [
    `${process.execPath} -e 'fetch("${url}").then((r) => r.text()).then(console.log)'`,
    `${process.execPath} -e 'require("http").get("${url}", (r) => r.pipe(process.stdout))'`,
    `python3 -c 'import urllib.request as u; print(u.urlopen("${url}").read().decode())'`,
    `wget -qO- ${url}`,
  ]) {
    const { output } = await egress.run(command);
    expect([command, output.trim()]).toEqual([command, `hello web.test:${site.port}`]);
  }
});

test("a WebSocket goes both ways, and other upgrades are left out", async () => {
  const site = kept(await httpServer((request, response) => response.end(`upgrade: ${request.headers.upgrade}`)));
  site.server.on("upgrade", (_request, socket) => {
    socket.write(
      "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nX-Key: k\r\n\r\nfirst ",
    );
    socket.on("data", (chunk: Buffer) => socket.end(chunk.toString().toUpperCase()));
  });
  const egress = kept(await openEgress([`web.test:${site.port}`], { "web.test": "127.0.0.1" }));
  const url = `http://web.test:${site.port}/`;
  expect((await egress.run(`curl -sS --http2 ${url}`)).output).toBe("upgrade: undefined");
  const socket = await egress.run(`node -e '
const s = require("net").connect(${new URL(egress.env.http_proxy ?? "").port}, "127.0.0.1");
s.write("GET ${url} HTTP/1.1\\r\\nHost: web.test:${site.port}\\r\\nConnection: Upgrade\\r\\nUpgrade: websocket\\r\\n\\r\\n");
s.on("data", (d) => { process.stdout.write(d); if (String(d).includes("first")) s.write("second"); });'`);
  expect(socket.output).toMatch(/^HTTP\/1.1 101 Switching Protocols\r\nX-Key: k\r\n[\s\S]*\r\n\r\nfirst SECOND$/);
});
