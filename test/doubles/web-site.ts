/** A web site on loopback: paths with their responses, and the requests so far. */
import { createServer, type IncomingHttpHeaders, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface WebSite {
  port: number;
  /** `http://127.0.0.1:<port>` */
  origin: string;
  /** In the order they came. */
  requests: { method: string; path: string; headers: IncomingHttpHeaders }[];
  /** Answers a path; a text is a page. */
  on(path: string, answer: string | ((response: ServerResponse, ...rest: Parameters<RequestListener>) => void)): void;
  redirect(path: string, location: string, status?: number): void;
  /** Ends open connections too. */
  close(): Promise<void>;
}

export async function startWebSite(): Promise<WebSite> {
  const answers = new Map<string, RequestListener>();
  const requests: WebSite["requests"] = [];
  const server = createServer({ keepAlive: false }, (request, response) => {
    const path = request.url ?? "";
    requests.push({ method: request.method ?? "", path, headers: request.headers });
    const answer = answers.get(path) ?? answers.get(path.split("?")[0] ?? "");
    if (answer !== undefined) answer(request, response);
    else response.writeHead(404, { "content-type": "text/plain" }).end("nothing here");
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    origin: `http://127.0.0.1:${port}`,
    requests,
    on(path, answer) {
      answers.set(path, (request, response) => {
        if (typeof answer === "function") answer(response, request, response);
        else response.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end(answer);
      });
    },
    redirect(path, location, status = 302) {
      answers.set(path, (_request, response) => void response.writeHead(status, { location }).end());
    },
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
}
