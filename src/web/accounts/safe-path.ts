/** Where to go after signing in: only to a page of this server, or else to the dashboard. */
const start = "/dashboard";
const base = "http://remora.invalid";

export function safePath(wanted: string | undefined): string {
  if (wanted === undefined || !wanted.startsWith("/")) return start;
  const url = URL.parse(wanted, base);
  // Browsers read `//host`, `/\host` and `/<tab>/host` as other servers.
  if (url === null || url.origin !== base || url.pathname.startsWith("//")) return start;
  const isPage = url.pathname === "/" || url.pathname === start || url.pathname.startsWith(`${start}/`);
  return isPage ? url.pathname + url.search : start;
}
