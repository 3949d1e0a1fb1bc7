/** The web skill with the system's name resolution. */
import { lookup } from "node:dns/promises";
import { createWeb } from "./web.ts";

export default createWeb({
  resolve: async (host) => (await lookup(host, { all: true, order: "verbatim" })).map(({ address }) => address),
});
