/**
 * Lets Discord's gateway use the proxy. discord.js creates its WebSockets without an agent and has no option for one. It
 * takes the class from the library `ws` when it is loaded, so the class is replaced there first.
 */
import type { Agent } from "node:https";
import { createRequire } from "node:module";

type SocketClass = new (address: string, protocols: string[], options: object) => object;

/** Must be called before discord.js is loaded. */
export function useAgentsForGateway(agentFor: (address: string) => Agent): void {
  const ofDiscord = createRequire(createRequire(import.meta.url).resolve("discord.js"));
  const library = createRequire(ofDiscord.resolve("@discordjs/ws"))("ws") as { WebSocket: SocketClass };
  const Original = library.WebSocket;
  library.WebSocket = class extends Original {
    constructor(address: string, protocols: string[], options: object) {
      super(address, protocols, { agent: agentFor(address), ...options });
    }
  };
}
