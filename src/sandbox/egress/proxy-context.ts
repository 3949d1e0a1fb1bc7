/** What the proxy of one session needs to decide about a request. */
import type { SecureContext } from "node:tls";
import type { CertificateAuthority } from "./certificates.ts";
import type { ConnectionRecords } from "./connections.ts";
import type { Dial } from "./dial.ts";
import type { ApprovedHost } from "./hosts.ts";
import type { EgressSecret } from "./secrets.ts";

export interface ProxyContext {
  hosts: readonly ApprovedHost[];
  secrets: readonly EgressSecret[];
  dial: Dial;
  records: ConnectionRecords;
  /** Present if at least one secret is for https. */
  authority: CertificateAuthority | undefined;
  trust(): SecureContext;
  signal: AbortSignal;
}
