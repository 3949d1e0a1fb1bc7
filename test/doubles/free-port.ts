import { createServer } from "node:net";

/**
 * A port of 127.0.0.1 on which nothing listens, below the range of ephemeral ports: the next server or client of any
 * process could get one of those, and a client that keeps retrying one can connect to itself. Leaves room for a Redis
 * cluster's second port, 10,000 above.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 20_000);
    if ((await isFree(port)) && (await isFree(port + 10_000))) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((done) => {
    const probe = createServer();
    probe.once("error", () => done(false));
    probe.listen(port, "127.0.0.1", () => probe.close(() => done(true)));
  });
}
