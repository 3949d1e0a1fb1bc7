/** Real programs behind the proxy, in a namespace without network. */
import { afterEach, expect, test } from "vitest";
import { type OpenedEgress, openEgress, openNamespace } from "./namespace.ts";
import { httpServer, tlsServer } from "./servers.ts";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});
const kept = <T extends { close(): unknown }>(opened: T): T => {
  closing.push(() => opened.close());
  return opened;
};
const outcomes = (egress: OpenedEgress) => egress.session.connections().map(({ host, outcome }) => [host, outcome]);

test("without a session there is no way out at all", async () => {
  const site = kept(await httpServer((_request, response) => response.end("reached")));
  const namespace = kept(await openNamespace());
  const { code, output } = await namespace.run(`curl -sS --max-time 5 http://127.0.0.1:${site.port}/`);
  expect(code).not.toBe(0);
  expect(output).not.toContain("reached");
});

test("curl reads an approved host over plain HTTP, and what went over the wire is counted", async () => {
  const site = kept(
    await httpServer((request, response) => response.end(`you asked for ${request.url} of ${request.headers.host}`)),
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

test("curl reads an approved host over HTTPS through a tunnel that the proxy can't read", async () => {
  const site = kept(await tlsServer("web.test", (_request, response) => response.end("secret page")));
  const egress = kept(await openEgress([`web.test:${site.port}`], { "web.test": "127.0.0.1" }));
  expect(egress.session.mounts).toEqual([]);
  const { code, output } = await egress.run(`cat > /run/ca.pem <<'END'
${site.authority.certificate}
END
curl -sS --cacert /run/ca.pem https://web.test:${site.port}/`);
  expect([code, output]).toEqual([0, "secret page"]);
});
