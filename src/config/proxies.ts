/** The outgoing proxies of `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`. As in curl, the lower-case name wins. */
import { type ConfigProblem, type Environment, readVariable } from "./environment.ts";

export interface ProxySettings {
  /** For https and wss addresses. */
  https?: ProxySetting;
  /** For http and ws addresses. */
  http?: ProxySetting;
  noProxy: string;
}

export interface ProxySetting {
  /** The variable that it comes from. */
  variable: string;
  url: URL;
}

const schemes = ["http:", "https:"];

export function readProxies(env: Environment): { proxies: ProxySettings; problems: ConfigProblem[] } {
  const problems: ConfigProblem[] = [];
  const [https, http] = ["https_proxy", "http_proxy"].map((name) => proxyIn(env, name, problems));
  const proxies = {
    ...(https === undefined ? {} : { https }),
    ...(http === undefined ? {} : { http }),
    noProxy: readVariable(env, "no_proxy") ?? readVariable(env, "NO_PROXY") ?? "",
  };
  return { proxies, problems };
}

function proxyIn(env: Environment, name: string, problems: ConfigProblem[]): ProxySetting | undefined {
  const variable = readVariable(env, name) === undefined ? name.toUpperCase() : name;
  const value = readVariable(env, variable)?.trim();
  if (value === undefined || value === "") return undefined;
  const url = URL.parse(/^[a-z][a-z0-9+.-]*:\/\//i.test(value) ? value : `http://${value}`);
  if (url !== null && schemes.includes(url.protocol) && hasReadablePassword(url)) return { variable, url };
  const shown = value.replace(/^([^/]*\/\/)?.*@/, "$1…@");
  const why =
    url === null
      ? "is not an address"
      : schemes.includes(url.protocol)
        ? "has a user name or password that is not percent-encoded"
        : `starts with ${url.protocol}//, but only HTTP proxies work`;
  const message = `"${shown}" ${why}. Write http://host:port or http://user:password@host:port, or unset the variable.`;
  problems.push({ place: variable, key: "", message });
  return undefined;
}

function hasReadablePassword({ username, password }: URL): boolean {
  try {
    decodeURIComponent(username + password);
    return true;
  } catch {
    return false;
  }
}

export function proxyPasswords({ https, http }: ProxySettings): { name: string; value: string }[] {
  return [https, http].flatMap((proxy) => {
    if (proxy === undefined || proxy.url.password === "") return [];
    const { variable, url } = proxy;
    const name = `password of ${variable}`;
    const values = new Set([url.password, decodeURIComponent(url.password)]);
    return [...values].map((value) => ({ name, value }));
  });
}
