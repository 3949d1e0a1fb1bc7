/** A double's way to answer requests. A client that leaves in the middle of its request is nobody's mistake. */
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";

export function requestListener(
  answer: (request: IncomingMessage, response: ServerResponse) => Promise<void>,
): RequestListener {
  return (request, response) => {
    answer(request, response).catch((thrown: unknown) => {
      if (!request.destroyed || request.complete) throw thrown;
    });
  };
}
