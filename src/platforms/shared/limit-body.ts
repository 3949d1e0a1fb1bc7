/**
 * Refuses bodies that are too large. Only a body without a length is read for that: to touch a request's body makes a
 * web stream of it, which takes a third of the time from a message's arrival to its route.
 */
import type { Context, MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";

export function limitBody(maxBytes: number, refuse: (context: Context) => Response): MiddlewareHandler {
  const whileReading = bodyLimit({ maxSize: maxBytes, onError: refuse });
  return async (context, next) => {
    const length = context.req.header("content-length");
    // Node reads no more than the length, and refuses a request that has both headers.
    if (length === undefined || context.req.header("transfer-encoding") !== undefined)
      return await whileReading(context, next);
    return Number(length) > maxBytes ? refuse(context) : await next();
  };
}
