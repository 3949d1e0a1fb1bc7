/**
 * Where a request comes from: this machine, or elsewhere through the reverse proxy of `web.publicUrl`. This machine is
 * who connects from a loopback address, not who names one in Host: with `web.host: 0.0.0.0`, anybody can connect. A
 * request with another Host is refused too, because it may be DNS rebinding; the reason says what to set.
 */
import type { Context } from "hono";
import { type Client, createReadClient } from "./client.ts";

export type Place =
  /** `origin` is what browsers send with a change from a page of this server. */
  { type: "machine" | "public"; client: Client; origin: string } | { type: "refused"; client: Client; reason: string };

export interface PlaceOptions {
  publicUrl: string | null;
  trustedProxies: readonly string[];
  port(): number;
}

export function createPlaceOf({ publicUrl, trustedProxies, port }: PlaceOptions): (context: Context) => Place {
  const readClient = createReadClient(trustedProxies);
  const address = publicUrl === null ? undefined : new URL(publicUrl);

  return (context) => {
    const client = readClient(context);
    const host = address?.protocol === "https:" ? client.host.replace(/:443$/, "") : client.host.replace(/:80$/, "");
    const refused = (reason: string): Place => ({ type: "refused", client, reason: `Refused: ${reason}` });
    if (address !== undefined && host === address.host) {
      if (address.protocol === "https:" && !client.isHttps) return refused(withoutHttps(address, client));
      // The settings allow plain HTTP for an address of this machine only.
      if (address.protocol === "http:" && !client.isFromLoopback) return refused(fromElsewhere(client));
      return { type: "public", client, origin: address.origin };
    }
    const own = loopbackHosts(port());
    if (!own.includes(client.host)) {
      const names = [...own, ...(address === undefined ? [] : [address.origin])];
      return refused(`this server answers only as ${names.join(", ")}. Use one of these names.`);
    }
    if (!client.isFromLoopback) return refused(fromElsewhere(client));
    if (!client.isForwarded) return { type: "machine", client, origin: `http://${client.host}` };
    return refused(
      address === undefined
        ? "this request came through a proxy. To reach Remora from elsewhere, set web.publicUrl and web.trustedProxies."
        : `this request came through a proxy that did not pass on the name ${address.host}. Let it send the Host header as it is.`,
    );
  };
}

function loopbackHosts(port: number): string[] {
  return [`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`];
}

function fromElsewhere({ address }: Client): string {
  return `this request comes from ${address ?? "an unknown address"}, not from this machine. To reach Remora from elsewhere, set web.publicUrl and web.trustedProxies.`;
}

function withoutHttps({ host, origin }: URL, { address, isUntrustedProxy }: Client): string {
  if (!isUntrustedProxy) return `${host} is reached over HTTPS, through its proxy. Use ${origin}.`;
  return `the proxy at ${address ?? "an unknown address"} is not trusted. Add its address to web.trustedProxies, and let it send X-Forwarded-Proto.`;
}
