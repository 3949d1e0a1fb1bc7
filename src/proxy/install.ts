/**
 * Makes this process use the proxies: `fetch` (models, Slack, MCP, embeddings, transcription, files), undici's WebSocket
 * (Slack), Discord's REST client, `node:https` (the web skill) and Discord's gateway. Other processes are not affected.
 */
import http from "node:http";
import https from "node:https";
import { createProxyRules, type ProxyOptions } from "./proxy-rules.ts";

/** Loads nothing if no proxy is set. Must be called before discord.js is loaded. */
export async function installProxies(options: ProxyOptions): Promise<void> {
  if (options.http === undefined && options.https === undefined) return;
  const proxyFor = createProxyRules(options);
  const [{ setGlobalDispatcher }, { createDispatcher }, { createAgents }, { useAgentsForGateway }] = await Promise.all([
    import("undici"),
    import("./dispatcher.ts"),
    import("./agents.ts"),
    import("./gateway-socket.ts"),
  ]);
  setGlobalDispatcher(createDispatcher(proxyFor));
  const agents = createAgents(proxyFor);
  http.globalAgent = agents.http;
  https.globalAgent = agents.https;
  useAgentsForGateway((address) => (address.startsWith("wss:") ? agents.https : agents.http) as https.Agent);
}
