/**
 * Reads bodies of people and services that are not known yet, within a budget for all of them together: seconds for each, a
 * number of unfinished ones, and bytes. Above it, the network with the most gives up its oldest, so a slow flood ends before a
 * quick body is refused. A body that is here already, as most are, needs no place.
 */
import type { IncomingMessage } from "node:http";
import type { Context } from "hono";
import { createEvictingPool, type EvictingPool, type PoolMember } from "./evicting-pool.ts";
import { formatBytes } from "./text/format-bytes.ts";

/** Resolves to the bytes as they came. After a refusal, the connection closes with the answer. */
export type ReadBody = (context: Context, maxBytes: number) => Promise<Buffer | BodyRefusal>;

export interface BodyRefusal {
  status: 408 | 413 | 503;
  reason: string;
}

export interface ReadBodyOptions {
  /** Who the body counts for: the network that it comes from. */
  ownerOf(context: Context): string;
  maxMs?: number;
  maxBodies?: number;
  /** Of all unfinished bodies together. */
  maxTotalBytes?: number;
}

const defaultMaxMs = 5_000;
const defaultMaxBodies = 128;
const defaultMaxTotalBytes = 16 * 1024 * 1024;
const firstBytes = 16 * 1024;

export function createReadBody(options: ReadBodyOptions): ReadBody {
  const { ownerOf, maxMs = defaultMaxMs } = options;
  const { maxBodies: maxMembers = defaultMaxBodies, maxTotalBytes: maxBytes = defaultMaxTotalBytes } = options;
  const pool = createEvictingPool({ maxMembers, maxBytes });

  return async (context, maxBodyBytes) => {
    const { incoming } = context.env as { incoming: IncomingMessage };
    const isTooLong = Number(incoming.headers["content-length"] ?? 0) > maxBodyBytes;
    const limits = { pool, owner: ownerOf(context), maxMs, maxBytes: maxBodyBytes };
    const read = isTooLong ? tooLarge(maxBodyBytes) : await collect(incoming, limits);
    // Nothing more of it is read.
    if (!Buffer.isBuffer(read)) context.header("Connection", "close");
    return read;
  };
}

interface Collecting {
  pool: EvictingPool;
  owner: string;
  maxMs: number;
  maxBytes: number;
}

function collect(
  incoming: IncomingMessage,
  { pool, owner, maxMs, maxBytes }: Collecting,
): Promise<Buffer | BodyRefusal> {
  return new Promise((resolve) => {
    // One buffer, because a body in pieces of one byte would take a hundred times its size.
    let buffer = Buffer.alloc(0);
    let length = 0;
    let member: PoolMember | undefined;

    function end(result: Buffer | BodyRefusal): void {
      clearTimeout(timer);
      clearImmediate(entering);
      member?.leave();
      incoming.off("data", take).off("end", finish).off("close", breakOff).pause();
      buffer = Buffer.alloc(0);
      resolve(result);
    }
    const finish = () => end(buffer.subarray(0, length));
    const breakOff = () => end({ status: 408, reason: "it broke off" });

    function take(piece: Buffer): void {
      const needed = length + piece.length;
      if (needed > maxBytes) {
        end(tooLarge(maxBytes));
        return;
      }
      if (needed > buffer.length) {
        const wider = Buffer.allocUnsafeSlow(Math.min(maxBytes, Math.max(needed, 2 * buffer.length, firstBytes)));
        buffer.copy(wider, 0, 0, length);
        const more = wider.length - buffer.length;
        buffer = wider;
        member?.grow(more);
      }
      piece.copy(buffer, length);
      length = needed;
    }

    const timer = setTimeout(() => end({ status: 408, reason: `it took more than ${maxMs / 1000} s` }), maxMs);
    const evict = () => end({ status: 503, reason: "too many unfinished requests" });
    // What has come with the head is read by then.
    const entering = setImmediate(() => {
      member = pool.enter(owner, evict);
      member.grow(buffer.length);
    });
    incoming.on("data", take).on("end", finish).on("close", breakOff);
  });
}

function tooLarge(maxBytes: number): BodyRefusal {
  return { status: 413, reason: `it has more than ${formatBytes(maxBytes)}` };
}
