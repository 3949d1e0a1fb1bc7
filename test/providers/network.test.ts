/** Offline, local and black-holed services: what the cascade asks, and when the first choice is back. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { NetworkInterfaceInfo } from "node:os";
import { afterEach, describe, expect, test } from "vitest";
import { RemoraError } from "../../src/lib/errors.ts";
import { createEvents } from "../../src/lib/event-bus.ts";
import type { ModelEvent, Provider } from "../../src/ports/provider.ts";
import { createCascade } from "../../src/providers/cascade.ts";
import { createNetwork, type Network, type NetworkOptions } from "../../src/providers/network.ts";
import { freePort } from "../doubles/free-port.ts";
import { createScriptedProvider, type ScriptStep, says } from "../doubles/scripted-provider.ts";
import { asking, collect } from "./apis.ts";

const card = { internal: false, address: "192.168.1.7" } as NetworkInterfaceInfo;
const loopback = { internal: true, address: "127.0.0.1" } as NetworkInterfaceInfo;
const direct = (address: URL) => address;
const open: Network[] = [];
afterEach(() => {
  for (const network of open.splice(0)) network.close();
});

function networkOf(options: Partial<NetworkOptions> = {}): Network {
  const network = createNetwork({ firstHop: direct, everyMs: 10, ...options });
  open.push(network);
  return network;
}

function service(model: string, address: string | undefined, ...steps: ScriptStep[]) {
  const provider = { ...createScriptedProvider(steps, model), name: model.split("/")[0] ?? "" };
  return address === undefined ? provider : { ...provider, address };
}

const unreached = (code: string): ModelEvent[] => [
  { type: "error", error: new RemoraError({ code, place: "provider x", message: "no", isRetryable: true }) },
];
const remote = "https://api.one.example";
const otherRemote = "https://api.two.example/v1";
const local = "http://127.0.0.1:11434";

function cascadeOf(providers: Provider[], network: Network, maxConnectMs = 1_900) {
  const cascade = createCascade({ providers, events: createEvents(), network, maxConnectMs, pauseMs: 1 });
  return async () => (await collect(cascade, asking("x"))).at(-1);
}

describe("without a network", () => {
  test("the local model answers, and no other service is asked; with a network, the first choice is back", async () => {
    let interfaces: NodeJS.Dict<NetworkInterfaceInfo[]> = { lo: [loopback] };
    const changes: boolean[] = [];
    const network = networkOf({ interfaces: () => interfaces, onChange: (isOffline) => changes.push(isOffline) });
    const one = service("a/one", remote, says("Far.", "a/one"));
    const two = service("b/two", otherRemote);
    const near = service("c/near", local, says("Near.", "c/near"));
    const ask = cascadeOf([one, two, near], network);
    expect(await ask()).toMatchObject({ model: "c/near", insteadBecause: "provider.offline" });
    expect([one.requests.length, two.requests.length]).toEqual([0, 0]);
    interfaces = { lo: [loopback], eth0: [card] };
    expect(await ask()).toMatchObject({ model: "a/one" });
    expect(changes).toEqual([true, false]);
  });

  test("a service is asked all the same if it is the only one", async () => {
    const ask = cascadeOf([service("a/one", remote, says("Far.", "a/one"))], networkOf({ interfaces: () => ({}) }));
    expect(await ask()).toMatchObject({ type: "end", model: "a/one" });
  });

  test.each([
    ["http://127.0.0.1:11434", false],
    ["http://localhost:11434", false],
    ["http://[::1]:1", false],
    ["http://ollama:11434", false],
    ["http://192.168.1.20:8080/v1", false],
    ["http://gpu.local:8080", false],
    ["https://api.anthropic.com", true],
    ["https://8.8.8.8", true],
  ])("%s is offline: %s", (address, isOffline) => {
    const network = networkOf({ interfaces: () => ({ lo: [loopback] }) });
    expect(network.isOffline(address)).toBe(isOffline);
    expect(network.isLocal(address)).toBe(!isOffline);
  });

  test("an address of the machine itself alone is no network, and a proxy on it may lead further", () => {
    const linkLocal = { ...card, address: "fe80::1" };
    expect(networkOf({ interfaces: () => ({ eth0: [linkLocal] }) }).isOffline(remote)).toBe(true);
    const firstHop = () => new URL("http://127.0.0.1:3128");
    const proxied = networkOf({ interfaces: () => ({}), firstHop });
    expect([proxied.isOffline(remote), proxied.isLocal(remote)]).toEqual([false, false]);
  });
});

describe("a service that can't be reached", () => {
  test("is asked with a short limit for the connection only if another model can answer", async () => {
    const network = networkOf({ interfaces: () => ({ eth0: [card] }), fetch: async () => new Response() });
    const one = service("a/one", remote, says("1", "a/one"), says("2", "a/one"));
    await cascadeOf([one, service("c/near", local)], network, 700)();
    await cascadeOf([one], network, 700)();
    const near = service("c/near", local, says("3", "c/near"));
    await cascadeOf([near, service("a/one", remote)], network, 700)();
    expect([...one.requests, ...near.requests].map(({ connectMs }) => connectMs)).toEqual([700, undefined, undefined]);
  });

  test("is all that others are tried for: not a slow answer", async () => {
    const probed: string[] = [];
    const fetch: typeof globalThis.fetch = async (input) => {
      probed.push(String(input));
      return new Response();
    };
    const slow: ScriptStep = async function* ({ onSent }) {
      onSent?.();
      await new Promise((resolve) => setTimeout(resolve, 100));
      yield* says("Far.", "a/one");
    };
    const network = networkOf({ interfaces: () => ({ eth0: [card] }), fetch });
    const ask = cascadeOf([service("a/one", remote, slow), service("b/two", otherRemote)], network, 40);
    expect(await ask()).toMatchObject({ model: "a/one" });
    expect(probed).toEqual([]);
  });

  test("costs one wait for all services, until one of them can be reached", async () => {
    const probed: string[] = [];
    let isBack = false;
    const fetch: typeof globalThis.fetch = async (input) => {
      probed.push(String(input));
      if (isBack) return new Response();
      throw Object.assign(new Error("no"), { code: "ETIMEDOUT" });
    };
    const network = networkOf({ interfaces: () => ({ eth0: [card] }), fetch });
    // The first request ends only after the search for the others has begun.
    const slow: ScriptStep = async function* () {
      while (!probed.includes(otherRemote)) await new Promise((resolve) => setTimeout(resolve, 2));
      yield* unreached("provider.connect-timeout");
    };
    const one = service("a/one", remote, slow, says("Far.", "a/one"));
    const two = service("b/two", otherRemote);
    const words = Array.from({ length: 500 }, (_, index) => says(`${index}`, "c/near"));
    const near = service("c/near", local, ...words);
    const ask = cascadeOf([one, two, near], network, 40);
    expect(await ask()).toMatchObject({ model: "c/near", insteadBecause: "provider.connect-timeout" });
    expect(await ask()).toMatchObject({ model: "c/near", insteadBecause: "provider.connect-timeout" });
    expect([one.requests.length, two.requests.length]).toEqual([1, 0]);
    isBack = true;
    await expect.poll(async () => probed.filter((address) => address === remote).length).toBeGreaterThan(0);
    await expect.poll(async () => (await ask()) as object, { interval: 30 }).toMatchObject({ model: "a/one" });
  });
});

describe("a host", () => {
  let server: Server | undefined;
  afterEach(() => server?.close());

  test("is reached by any answer, and not without one", async () => {
    server = createServer((_request, response) => response.writeHead(404).end());
    await new Promise<void>((resolve) => server?.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const network = networkOf();
    expect(await network.reaches(`http://127.0.0.1:${port}`, 10_000)).toBe(true);
    expect(await network.reaches(`http://127.0.0.1:${await freePort()}`, 10_000)).toBe(false);
    await new Promise<void>((resolve) => network.whenReachable(`http://127.0.0.1:${port}`, resolve));
  });
});
