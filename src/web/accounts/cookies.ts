/** Names and attributes of the cookies. The prefix `__Host-` keeps other hosts of the domain from setting them. */
export interface Cookies {
  session: string;
  /** Ties an attempt to sign in to the browser that began it. */
  flow: string;
  options: { httpOnly: true; sameSite: "Lax"; path: "/"; secure: boolean };
}

export const flowCookieSeconds = 10 * 60;

/** Ports share cookies, so without HTTPS the name includes the port to keep two Remoras on one machine apart. */
export function cookiesFor(isHttps: boolean, port: number): Cookies {
  const [prefix, suffix] = isHttps ? ["__Host-", ""] : ["", `_${port}`];
  return {
    session: `${prefix}remora-session${suffix}`,
    flow: `${prefix}remora-sign-in${suffix}`,
    // Lax, because the browser comes back from the service that signs people in.
    options: { httpOnly: true, sameSite: "Lax", path: "/", secure: isHttps },
  };
}
