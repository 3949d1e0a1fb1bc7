/** What a proxy can do wrong, as people read it. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readProxies } from "../../src/config/proxies.ts";
import { createProxyRules, type OutgoingProxy } from "../../src/proxy/proxy-rules.ts";
import { openTunnel, secureTunnel } from "../../src/proxy/tunnel.ts";
import { type ConnectProxy, type ProxyManner, startConnectProxy } from "../doubles/connect-proxy.ts";

let double: ConnectProxy;
let proxy: OutgoingProxy;
beforeEach(async () => {
  double = await startConnectProxy({ credentials: "ann:secret" });
  proxy = { variable: "HTTPS_PROXY", url: new URL(double.url.replace("//", "//ann:secret@")) };
});
afterEach(() => double.stop());

async function complaint(manner: ProxyManner, change: (url: URL) => void = () => {}, maxMs = 20_000): Promise<string> {
  double.manner = manner;
  change(proxy.url);
  const options = { proxy, host: "api.test", port: 443, maxMs };
  try {
    const socket = await openTunnel(options);
    await secureTunnel(options, socket, { servername: "api.test" });
  } catch (thrown) {
    return (thrown as Error).message;
  }
  return "nothing";
}

describe("a proxy that", () => {
  const name = () => `[proxy http://127.0.0.1:${double.port} (HTTPS_PROXY)]`;

  test("does not know the password", async () => {
    const said = await complaint({ type: "works" }, (url) => {
      url.password = "wrong-secret";
    });
    expect(said).toBe(`${name()} refused the user name and password in HTTPS_PROXY (407). Correct them`);
  });

  test("wants a password", async () => {
    const said = await complaint({ type: "works" }, (url) => {
      [url.username, url.password] = ["", ""];
    });
    expect(said).toBe(
      `${name()} asks for a user name and password (407). Set HTTPS_PROXY to http://user:password@127.0.0.1:${double.port}`,
    );
  });

  test("refuses the host", async () => {
    const said = await complaint({ type: "refuses", status: 403, words: "Not \u202eallowed" });
    expect(said).toBe(
      `${name()} refused a connection to api.test:443 (403 Not allowed). Ask the people who run the proxy, or add the host to NO_PROXY`,
    );
  });

  test("says 200 and then sends garbage", async () => {
    const said = await complaint({ type: "lies", text: "<html>Please sign in</html>" });
    expect(said).toContain(`${name()} opened a tunnel to api.test, but no TLS came through it (`);
  });

  test("says 200 and then nothing", async () => {
    const said = await complaint({ type: "lies", text: "" }, undefined, 2_000);
    expect(said).toContain("opened a tunnel to api.test, but no TLS came through it (");
  });

  test("is not a proxy", async () => {
    expect(await complaint({ type: "is-no-proxy" })).toBe(
      `${name()} did not answer like an HTTP proxy. Check the address in HTTPS_PROXY`,
    );
  });

  test("cuts the connection", async () => {
    expect(await complaint({ type: "cuts" })).toBe(
      `${name()} closed the connection without an answer. Check the proxy`,
    );
  });

  test("keeps silent", async () => {
    expect(await complaint({ type: "hangs" }, undefined, 300)).toBe(
      `${name()} did not answer within 0.3 s. Check the proxy`,
    );
  });

  test("is not there", async () => {
    await double.stop();
    expect(await complaint({ type: "works" })).toBe(
      `${name()} can't be reached (ECONNREFUSED). Check the address in HTTPS_PROXY`,
    );
    double = await startConnectProxy();
  });
});

describe("NO_PROXY", () => {
  const url = new URL("http://proxy.test:3128");
  const takes = (noProxy: string, host: string, port = 443) =>
    createProxyRules({ https: { variable: "HTTPS_PROXY", url }, noProxy })({ isSecure: true, host, port }) !==
    undefined;

  test.each([
    ["", "api.test", true],
    ["*", "api.test", false],
    ["api.test", "api.test", false],
    ["API.test.", "api.test", false],
    ["test", "api.test", false],
    ["pi.test", "api.test", true],
    [".test", "api.test", false],
    [".api.test", "api.test", true],
    ["*.test other", "api.test", false],
    ["api.test:8443", "api.test", true],
    ["api.test:443", "api.test", false],
    ["10.0.0.0/8", "10.1.2.3", false],
    ["10.0.0.0/8", "11.1.2.3", true],
    ["[fd00::1]", "fd00::1", false],
    ["", "127.0.0.1", false],
    ["", "127.9.9.9", false],
    ["", "::1", false],
    ["", "localhost", false],
    ["", "127.example.test", true],
    ["::::, ]", "api.test", true],
  ])("%j and %s", (noProxy, host, isProxied) => {
    expect(takes(noProxy, host)).toBe(isProxied);
  });

  test("http has a proxy of its own", () => {
    const rules = createProxyRules({ https: { variable: "HTTPS_PROXY", url }, noProxy: "" });
    expect(rules({ isSecure: false, host: "api.test", port: 80 })).toBeUndefined();
  });
});

describe("the variables", () => {
  test("lower case wins, and a bare host is an HTTP proxy", () => {
    const { proxies, problems } = readProxies({
      ...{ https_proxy: "proxy.test:3128", HTTPS_PROXY: "http://other.test", HTTP_PROXY: "", NO_PROXY: "a,b" },
    });
    expect(problems).toEqual([]);
    expect(proxies.https).toMatchObject({ variable: "https_proxy", url: new URL("http://proxy.test:3128") });
    expect(proxies).toMatchObject({ noProxy: "a,b" });
    expect(proxies.http).toBeUndefined();
  });

  test.each([
    ["socks5://user:secret@proxy.test", '"socks5://…@proxy.test" starts with socks5://, but only HTTP proxies work.'],
    ["http://", '"http://" is not an address.'],
    ["http://user:100%@proxy.test", '"http://…@proxy.test" has a user name or password that is not percent-encoded.'],
  ])("%s", (value, text) => {
    const { problems } = readProxies({ HTTPS_PROXY: value });
    expect(problems).toEqual([
      {
        place: "HTTPS_PROXY",
        key: "",
        message: `${text} Write http://host:port or http://user:password@host:port, or unset the variable.`,
      },
    ]);
  });
});
