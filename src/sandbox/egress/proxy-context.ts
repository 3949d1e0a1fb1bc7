/** What every request of one session is decided by. */
import type { SecureContext } from "node:tls";
import type { CertificateAuthority } from "./certificates.ts";
import type { ConnectionRecords } from "./connections.ts";
import type { Dial } from "./dial.ts";
import type { ApprovedHost } from "./hosts.ts";
import type { EgressSecret } from "./secrets.ts";

export interface ProxyContext {
  hosts: readonly ApprovedHost[];
  /** Of these hosts only. */
  secrets: readonly EgressSecret[];
  dial: Dial;
  records: ConnectionRecords;
  /** Exists where a secret is for https. */
  authority: CertificateAuthority | undefined;
  /** The roots that servers are verified with. */
  trust(): SecureContext;
  /** Aborts when the session ends. */
  signal: AbortSignal;
}
