/** Fields of an answer, read by what they are: servers send other types than the clients' libraries say. */
import { isJsonObject } from "../lib/json.ts";

/** Text alone, or in parts, as Mistral's models and gateways send it, with thinking and references among them. Nothing else is text. */
export function textIn(content: unknown): string {
  if (typeof content === "string") return content;
  const parts = [content].flat().filter(isJsonObject);
  return parts
    .map(({ type = "text", text }) => (/^(?:output_)?text$/.test(String(type)) && typeof text === "string" ? text : ""))
    .join("");
}

/** Arguments of a call. Some servers send them as an object. */
export function argumentsIn(given: unknown): string {
  return typeof given === "string" ? given : given === undefined || given === null ? "" : JSON.stringify(given);
}

/** A name or an id. */
export function nameIn(given: unknown): string {
  return typeof given === "string" || typeof given === "number" ? String(given) : "";
}
