/**
 * The settings of the web skill, `skills.settings.web` in config/remora.yaml:
 *
 *   allow    hosts (`wiki.corp`, `*.corp`, with or without `:port`), addresses and networks (`10.1.0.0/16`) that may be
 *            fetched although they are not public; without a port, the ports below apply
 *   deny     entries of the same kinds that are never fetched; overrides allow
 *   ports    permitted ports
 *   seconds  time limit for one page in seconds, from name resolution to the last byte
 *   search   the search provider of web_search
 */
import { z } from "zod";
import { RemoraError } from "../../src/plugin-sdk/errors.ts";
import { type AddressRule, readAddressRule } from "../../src/plugin-sdk/network-addresses.ts";
import type { JsonObject } from "../../src/plugin-sdk/plugin.ts";

/** Other ports belong to mail servers, databases and cluster managers, some of which react to HTTP requests. */
const usualPorts = [80, 443, 8080, 8443];

const searchSchema = z.strictObject({
  provider: z.enum(["none", "searxng", "brave", "tavily"]).default("none"),
  url: z.url({ protocol: /^https?$/ }).optional(),
  apiKey: z.string().min(1).optional(),
});

const settingsSchema = z.strictObject({
  allow: z.array(z.string()).default([]),
  deny: z.array(z.string()).default([]),
  ports: z.array(z.number().int().min(1).max(65_535)).default(usualPorts),
  seconds: z.number().min(0.1).max(60).default(15),
  search: searchSchema.prefault({}),
});

export type SearchSettings = z.infer<typeof searchSchema>;

export interface WebSettings {
  allow: AddressRule[];
  deny: AddressRule[];
  ports: number[];
  seconds: number;
  search: SearchSettings;
}

export function readSettings(config: JsonObject): WebSettings {
  const { data, error } = settingsSchema.safeParse(config);
  if (data === undefined) {
    const [issue] = error.issues;
    throw problem(issue?.path.join(".") ?? "", issue?.message ?? "is wrong");
  }
  return { ...data, allow: data.allow.map(ruleFor("allow")), deny: data.deny.map(ruleFor("deny")) };
}

function ruleFor(setting: string): (written: string) => AddressRule {
  return (written) => {
    const rule = readAddressRule(written);
    if (rule !== undefined) return rule;
    const what = `"${written}" is neither a host, host:port, address, address:port nor network: correct it`;
    throw problem(setting, what);
  };
}

function problem(setting: string, what: string): RemoraError {
  const place = ["skills.settings.web", setting].filter((part) => part !== "").join(".");
  return new RemoraError({ code: "web.settings", place, message: what });
}
