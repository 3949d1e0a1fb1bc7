/**
 * Secrets that the proxy adds to requests so that commands never see them (`sandbox.network.secrets`). A key without a
 * scheme means https. Plain HTTP sends the secret unencrypted, so the key must start with `http://`.
 */
import { RemoraError } from "../../lib/errors.ts";
import { type ApprovedHost, isApproved, parseAuthority } from "./hosts.ts";

export type EgressSecretSettings = Readonly<Record<string, Readonly<Record<string, string>>>>;

export interface EgressSecret {
  scheme: "https" | "http";
  host: string;
  port: number;
  /** Must not be shown, logged or put into an error. */
  headers: { name: string; value: string }[];
}

/** Headers that frame the message or connection, which other values would break. */
const reservedHeaders = new Set(
  [
    "host",
    "connection",
    "keep-alive",
    "content-length",
    "transfer-encoding",
    "upgrade",
    "expect",
    "te",
    "trailer",
  ].concat(["proxy-connection", "proxy-authorization", "proxy-authenticate", "date", "via"]),
);

/** Throws a RemoraError for the operator. The error names keys and headers, never values. */
export function readSecrets(settings: EgressSecretSettings): EgressSecret[] {
  return Object.entries(settings).map(([key, headers]) => {
    const [, written = "https", rest = ""] = /^(?:(https?):\/\/)?([^/]*)\/?$/i.exec(key) ?? [];
    const scheme = written.toLowerCase() === "http" ? "http" : "https";
    const authority = parseAuthority(rest, scheme === "http" ? 80 : 443);
    if (authority === undefined) throw problem(key, "is not host, host:port or http://host:port: correct it");
    return { scheme, ...authority, headers: Object.entries(headers).map((pair) => readHeader(key, pair)) };
  });
}

function readHeader(key: string, [name, value]: [string, string]): { name: string; value: string } {
  if (!/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/.test(name)) throw problem(key, `has "${name}", which is not a header name`);
  if (reservedHeaders.has(name.toLowerCase())) throw problem(key, `sets "${name}", which can't hold a secret`);
  if (!/^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/.test(value)) {
    throw problem(
      key,
      `has a value for "${name}" that is empty or not printable ASCII: check the environment variable`,
    );
  }
  return { name, value };
}

export function secretsFor(secrets: readonly EgressSecret[], hosts: readonly ApprovedHost[]): EgressSecret[] {
  return secrets.filter(({ host, port }) => isApproved(hosts, host, port));
}

export function findSecret(
  secrets: readonly EgressSecret[],
  scheme: EgressSecret["scheme"],
  host: string,
  port: number,
): EgressSecret | undefined {
  return secrets.find((secret) => secret.scheme === scheme && secret.host === host && secret.port === port);
}

/** Replaces headers with the same names. `headers` has alternating names and values. */
export function withSecret(headers: readonly string[], secret: EgressSecret | undefined): string[] {
  if (secret === undefined) return [...headers];
  const names = new Set(secret.headers.map(({ name }) => comparableName(name)));
  const kept = pairsOf(headers).filter(([name]) => !names.has(comparableName(name)));
  return [...kept, ...secret.headers.map(({ name, value }): [string, string] => [name, value])].flat();
}

export function pairsOf(headers: readonly string[]): [name: string, value: string][] {
  return Array.from({ length: headers.length >> 1 }, (_, index) => [
    headers[2 * index] ?? "",
    headers[2 * index + 1] ?? "",
  ]);
}

/** Some servers read `X_Api_Key` as `X-Api-Key`. */
function comparableName(name: string): string {
  return name.toLowerCase().replaceAll("_", "-");
}

function problem(key: string, what: string): RemoraError {
  return new RemoraError({ code: "sandbox.network", place: "sandbox.network.secrets", message: `"${key}" ${what}` });
}
