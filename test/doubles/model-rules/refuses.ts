/** For doubles of Claude that keep no answers: refuses a request as Anthropic would, and says whether it did. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { refusalOf } from "./rule.ts";
import { rulesOfServices } from "./services.ts";

export function refuses({ url = "/", headers }: IncomingMessage, body: string, response: ServerResponse): boolean {
  const call = { path: url, headers, body: JSON.parse(body), answers: [], asked: [] };
  const refusal = refusalOf(rulesOfServices.anthropic, call);
  if (refusal === undefined) return false;
  response.writeHead(refusal.status, { "content-type": "application/json" }).end(JSON.stringify(refusal.body));
  return true;
}
