/**
 * The settings of the web skill, `skills.settings.web` in config/remora.yaml:
 *
 *   allow    hosts (`wiki.corp`, `*.corp`, with or without `:port`), addresses and networks (`10.1.0.0/16`) that may be fetched
 *            although they are not public; without a port the ports below hold
 *   deny     the same kinds of entries, never to be fetched; wins over allow
 *   ports    ports that may be connected to
 *   seconds  for one page, from the name to the last byte
 *   search   the search provider of web_search
 */
import type { BlockList } from "node:net";
import { z } from "zod";
import { RemoraError } from "../../src/core/errors.ts";
import type { JsonObject } from "../../src/core/message.ts";
import { isIn, networkOf } from "./addresses.ts";

/** Mail, databases, caches and cluster managers answer on others, some of them also to an HTTP request. */
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

/** Some hosts or addresses, at one port or at any. */
export interface Rule {
  matches(host: string, address: string | undefined, port: number): boolean;
  hasPort: boolean;
}

export interface WebSettings {
  allow: Rule[];
  deny: Rule[];
  ports: number[];
  seconds: number;
  search: SearchSettings;
}

/** Throws a RemoraError that names the setting, for an operator to read. */
export function readSettings(config: JsonObject): WebSettings {
  const { data, error } = settingsSchema.safeParse(config);
  if (data === undefined) {
    const [issue] = error.issues;
    throw problem(issue?.path.join(".") ?? "", issue?.message ?? "is wrong");
  }
  return { ...data, allow: data.allow.map(ruleFor("allow")), deny: data.deny.map(ruleFor("deny")) };
}

function ruleFor(setting: string): (written: string) => Rule {
  return (written) => {
    const rule = readRule(written.trim().toLowerCase());
    if (rule !== undefined) return rule;
    const what = `"${written}" is neither a host, host:port, address, address:port nor network: correct it`;
    throw problem(setting, what);
  };
}

function readRule(written: string): Rule | undefined {
  const network = networkOf(written);
  if (network !== undefined) return networkRule(network, undefined);
  const [, inBrackets, name = "", digits] = /^(?:\[([^\]]+)\]|([^:[\]/\s]+))(?::(\d{1,5}))?$/.exec(written) ?? [];
  const port = digits === undefined ? undefined : Number(digits);
  if (port !== undefined && (port < 1 || port > 65_535)) return undefined;
  const address = networkOf(inBrackets ?? name);
  if (address !== undefined) return networkRule(address, port);
  return name === "" ? undefined : hostRule(name, port);
}

function networkRule(network: BlockList, port: number | undefined): Rule {
  return {
    matches: (_host, address, at) => address !== undefined && isIn(network, address) && (port ?? at) === at,
    hasPort: port !== undefined,
  };
}

/** `*.corp.example` is every host below corp.example. */
function hostRule(written: string, port: number | undefined): Rule | undefined {
  const isBelow = written.startsWith("*.");
  const url = URL.parse(`http://${isBelow ? written.slice(2) : written}/`);
  if (url === null || url.pathname !== "/" || url.username !== "" || url.hostname.includes("*")) return undefined;
  const name = url.hostname.replace(/\.$/, "");
  return {
    matches: (host, _address, at) => (isBelow ? host.endsWith(`.${name}`) : host === name) && (port ?? at) === at,
    hasPort: port !== undefined,
  };
}

function problem(setting: string, what: string): RemoraError {
  const place = ["skills.settings.web", setting].filter((part) => part !== "").join(".");
  return new RemoraError({ code: "web.settings", place, message: what });
}
