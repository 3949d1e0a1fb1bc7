/**
 * Gives each approved command a proxy, which is the only way out of its view. The proxy accepts only approved hosts and
 * ports, refuses non-public addresses, adds secrets, and logs every connection. Open the session before the view,
 * because the view needs its mounts. Connect it once the view has a pid.
 */
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSecureContext, getCACertificates, type SecureContext } from "node:tls";
import { type AddressRule, readAddressRule } from "../../lib/address-rule.ts";
import { RemoraError } from "../../lib/errors.ts";
import { formatBytes } from "../../lib/text/format-bytes.ts";
import { formatNumber } from "../../lib/text/format-number.ts";
import type { CertificateAuthority } from "./certificates.ts";
import { createConnectionRecords, type EgressConnection } from "./connections.ts";
import { createDial, type Dial, type Resolve } from "./dial.ts";
import { proxyEnvironment } from "./environment.ts";
import { type ApprovedHost, hostLine, isApproved, parseHosts } from "./hosts.ts";
import { maxConnections, maxSessionBytes } from "./limits.ts";
import { openListener } from "./listener.ts";
import { createProxy } from "./proxy.ts";
import { describeRefusals } from "./replies.ts";
import { type EgressSecret, type EgressSecretSettings, readSecrets, secretsFor } from "./secrets.ts";

export interface EgressOptions {
  /** `sandbox.network.allow`: hosts, addresses and networks that are allowed even if they are not public. */
  allow: readonly string[];
  /** `sandbox.network.always`: hosts that every command may reach, in the syntax of a call. */
  always?: readonly string[];
  /** `sandbox.network.secrets`, with environment variables filled in. */
  secrets: EgressSecretSettings;
  /** Called once per connection, when it ends. Must not throw. */
  log(connection: EgressConnection): void;
  resolve?: Resolve;
  /** PEM. Trusted in addition to the roots of Node, the system and NODE_EXTRA_CA_CERTS. */
  roots?: readonly string[];
}

export interface Egress {
  /** True if `always` covers all ports of the host, which is written as in a call. */
  isFree(host: string): boolean;
  describe(hosts: readonly ApprovedHost[]): string[];
  open(hosts: readonly ApprovedHost[], signal: AbortSignal): Promise<EgressSession>;
  close(): Promise<void>;
}

export interface EgressSession {
  /** Folders to mount read-only in the view. Empty if no TLS is terminated. */
  mounts: readonly { from: string; at: string }[];
  /** Starts the proxy on the view's loopback. Call it at most once. For `pid`, see `openListener`. */
  connect(pid: number, signal: AbortSignal): Promise<Record<string, string>>;
  connections(): EgressConnection[];
  /** Those of the approved hosts that sent anything. Written as in the call. */
  answeredBy(hosts: readonly string[]): string[];
  refusals(): string;
  /** Closes every connection immediately. Must not reject. May be called again. */
  close(): Promise<void>;
}

/** Throws a RemoraError for the operator if a setting is invalid. */
export function createEgress(options: EgressOptions): Egress {
  const secrets = readSecrets(options.secrets);
  const free = (options.always ?? []).flatMap(readFree);
  const dial = createDial(options.allow.map(readAllowed), options.resolve);
  const roots = createRoots(options.roots ?? []);
  const sessions = new Set<EgressSession>();

  return {
    isFree(host) {
      const parsed = parseHosts([host]);
      if (parsed.type === "refused") return false;
      return parsed.hosts.every(({ host: name, ports }) => ports.every((port) => isApproved(free, name, port)));
    },
    describe(hosts) {
      return hosts.map((host) => [hostLine(host), ...secretNames(secretsFor(secrets, [host]))].join("; "));
    },
    async open(hosts, signal) {
      const own = secretsFor(secrets, hosts);
      const authority = own.some(({ scheme }) => scheme === "https") ? await makeAuthority() : undefined;
      const folder = authority === undefined ? undefined : await writeBundle([...roots.list(), authority.certificate]);
      const session = createSession({ hosts, secrets: own, dial, authority, folder, roots, log: options.log }, () =>
        sessions.delete(session),
      );
      sessions.add(session);
      if (!signal.aborted) return session;
      await session.close();
      throw signal.reason;
    },
    async close() {
      await Promise.all(Array.from(sessions, (session) => session.close()));
    },
  };
}

interface SessionParts {
  hosts: readonly ApprovedHost[];
  secrets: readonly EgressSecret[];
  dial: Dial;
  authority: CertificateAuthority | undefined;
  folder: string | undefined;
  roots: Roots;
  log(connection: EgressConnection): void;
}

const overLimit = `The command reached its network limit: ${formatNumber(maxConnections)} connections or ${formatBytes(maxSessionBytes)}.`;
const bundleName = "certificates.pem";
const wgetSettings = "wgetrc";
const bundleMount = "/run/remora";

function createSession(
  { hosts, secrets, dial, authority, folder, roots, log }: SessionParts,
  onClose: () => void,
): EgressSession {
  const ending = new AbortController();
  let isOverLimit = false;
  const records = createConnectionRecords(log);
  const { signal } = ending;
  const proxy = createProxy({ hosts, secrets, dial, records, authority, trust: roots.context, signal }, () => {
    isOverLimit = true;
    end();
  });

  function end(): void {
    ending.abort();
    proxy.close();
    records.close();
  }

  return {
    mounts: folder === undefined ? [] : [{ from: folder, at: bundleMount }],
    async connect(pid, caller) {
      const { server, port } = await openListener(pid, AbortSignal.any([caller, signal]));
      proxy.listen(server);
      if (folder === undefined) return proxyEnvironment(port);
      const certificates = { bundle: `${bundleMount}/${bundleName}`, wgetrc: `${bundleMount}/${wgetSettings}` };
      return proxyEnvironment(port, certificates);
    },
    connections: () => records.list(),
    answeredBy(written) {
      const answered = records.list().filter(({ bytesIn }) => bytesIn > 0);
      return written.filter((each) => {
        const parsed = parseHosts([each]);
        return parsed.type === "hosts" && answered.some(({ host, port }) => isApproved(parsed.hosts, host, port));
      });
    },
    refusals: () => (isOverLimit ? overLimit : describeRefusals(records.list(), hosts)),
    async close() {
      end();
      onClose();
      if (folder !== undefined) await rm(folder, { recursive: true, force: true }).catch(() => {});
    },
  };
}

async function makeAuthority(): Promise<CertificateAuthority> {
  const { createAuthority } = await import("./certificates.ts");
  return createAuthority();
}

interface Roots {
  list(): readonly string[];
  context(): SecureContext;
}

/** Reads the root certificates on first use, because there are about 150 and most sessions need none. */
function createRoots(more: readonly string[]): Roots {
  let certificates: readonly string[] | undefined;
  let secureContext: SecureContext | undefined;
  const list = () => {
    certificates ??= [
      ...new Set([...(["bundled", "system", "extra"] as const).flatMap((kind) => getCACertificates(kind)), ...more]),
    ];
    return certificates;
  };
  return {
    list,
    context: () => {
      secureContext ??= createSecureContext({ ca: [...list()] });
      return secureContext;
    },
  };
}

/** The command's user must be able to read the files. wget needs its own settings file. */
async function writeBundle(certificates: readonly string[]): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "remora-egress-"));
  const text = certificates.map((certificate) => `${certificate.trim()}\n`).join("");
  await chmod(folder, 0o755);
  await writeFile(join(folder, bundleName), text, { mode: 0o644 });
  await writeFile(join(folder, wgetSettings), `ca_certificate = ${bundleMount}/${bundleName}\n`, { mode: 0o644 });
  return folder;
}

function secretNames(secrets: readonly EgressSecret[]): string[] {
  const names = new Set(secrets.flatMap(({ headers }) => headers.map(({ name }) => name)));
  return names.size === 0 ? [] : [`requests carry this installation's ${[...names].join(", ")}`];
}

function readFree(written: string): ApprovedHost[] {
  const parsed = parseHosts([written]);
  if (parsed.type === "hosts") return parsed.hosts;
  throw new RemoraError({ code: "sandbox.network", place: "sandbox.network.always", message: parsed.message });
}

function readAllowed(written: string): AddressRule {
  const rule = readAddressRule(written);
  if (rule !== undefined) return rule;
  throw new RemoraError({
    code: "sandbox.network",
    place: "sandbox.network.allow",
    message: `"${written}" is not a host, host:port, address, address:port or network: correct it`,
  });
}
