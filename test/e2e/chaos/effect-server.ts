/** Counts the effects of the test tools by call id, whichever process ran them. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface EffectServer {
  url: string;
  /** How often this id's effect happened. */
  count(id: string): number;
  ids(): string[];
  close(): Promise<void>;
}

export async function startEffectServer(): Promise<EffectServer> {
  const counts = new Map<string, number>();
  const server = createServer((request, response) => {
    const id = new URL(request.url ?? "/", "http://effects").pathname.slice(1);
    counts.set(id, (counts.get(id) ?? 0) + 1);
    request.resume();
    response.end(`effect ${id}`);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    count: (id) => counts.get(id) ?? 0,
    ids: () => [...counts.keys()],
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
