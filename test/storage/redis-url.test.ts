import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { RemoraError } from "../../src/lib/errors.ts";
import { parseRedisUrl } from "../../src/storage/redis/url.ts";

describe("reading REDIS_URL", () => {
  test("a single server, with what is left out filled in", () => {
    expect(parseRedisUrl("redis://cache")).toEqual({
      type: "single",
      node: { host: "cache", port: 6379 },
      database: 0,
      isTls: false,
      name: "redis://cache:6379/0",
    });
    expect(parseRedisUrl(" redis://10.0.0.1:6380/3 ")).toMatchObject({
      node: { host: "10.0.0.1", port: 6380 },
      database: 3,
    });
    expect(parseRedisUrl("REDISS://cache/")).toMatchObject({ type: "single", isTls: true, database: 0 });
    expect(parseRedisUrl("redis://[::1]:7000")).toMatchObject({
      node: { host: "::1", port: 7000 },
      name: "redis://[::1]:7000/0",
    });
  });

  test("user and password, with reserved characters percent-encoded, and neither in the name", () => {
    expect(parseRedisUrl("redis://:p%40ss%2Fword%3A%25@cache")).toMatchObject({
      password: "p@ss/word:%",
      name: "redis://cache:6379/0",
    });
    expect(parseRedisUrl("redis://:p%40ss@cache")).not.toHaveProperty("username");
    expect(parseRedisUrl("redis://remora:a:b@cache")).toMatchObject({ username: "remora", password: "a:b" });
    expect(parseRedisUrl("redis://@cache")).not.toHaveProperty("password");
    expect(parseRedisUrl("redis://:@cache")).not.toHaveProperty("password");
  });

  test("sentinels with the master's name and the database behind it", () => {
    expect(parseRedisUrl("redis+sentinel://:secret@one:26379,two,[::2]:5/my%20master/2")).toEqual({
      type: "sentinel",
      sentinels: [
        { host: "one", port: 26_379 },
        { host: "two", port: 26_379 },
        { host: "::2", port: 5 },
      ],
      masterName: "my master",
      database: 2,
      isTls: false,
      password: "secret",
      name: "redis+sentinel://one:26379,two:26379,[::2]:5/my master/2",
    });
    expect(parseRedisUrl("rediss+sentinel://one/mymaster")).toMatchObject({ database: 0, isTls: true });
  });

  test("a cluster's nodes", () => {
    expect(parseRedisUrl("redis+cluster://user:secret@one:7000,two:7001")).toEqual({
      type: "cluster",
      nodes: [
        { host: "one", port: 7000 },
        { host: "two", port: 7001 },
      ],
      isTls: false,
      username: "user",
      password: "secret",
      name: "redis+cluster://one:7000,two:7001",
    });
    expect(parseRedisUrl("rediss+cluster://one/0")).toMatchObject({ isTls: true });
  });

  test.each([
    ["", "is not a valid Redis address"],
    ["localhost:6379", "is not a valid Redis address"],
    ["http://hunter2@cache", "is not a valid Redis address"],
    ["redis+tls://cache", "is not a valid Redis address"],
    ["redis://", "an invalid host"],
    ["redis://:hunter2@", "an invalid host"],
    ["redis://cache:0", "an invalid host"],
    ["redis://cache:65536", "an invalid host"],
    ["redis://::1", "an invalid host"],
    ["redis://one,two", "names several hosts"],
    ["redis://cache/hunter2", "not a database number"],
    ["redis://cache/1/2", "not a database number"],
    ["redis://hunter2@cache", "a user but no password"],
    ["redis://:hunter2@x@cache", "%40"],
    ["redis://:hunter2/x@cache", "%2F"],
    ["redis://:hunter2#x@cache", "%23"],
    ["redis://:hunter2?x@cache", "%3F"],
    ["redis://:hunter2%@cache", "%25"],
    ["redis://cache?password=hunter2", "not supported"],
    ["redis+sentinel://:hunter2@one:26379", "names no master"],
    ["redis+sentinel://:hunter2@one,/mymaster", "an invalid host"],
    ["redis+sentinel://one/mymaster/x", "not a database number"],
    ["redis+cluster://one/3", "Redis Cluster has no other"],
  ])("%s is refused in words, without what may be a password", (url, words) => {
    const refused = () => parseRedisUrl(url);
    expect(refused).toThrow(RemoraError);
    expect(refused).toThrow(expect.objectContaining({ code: "config.redis-url", place: "REDIS_URL" }));
    expect(refused).toThrow(words);
    expect(refused).not.toThrow("hunter2");
  });

  test("any user and password come back, and never stand in the name", () => {
    const text = fc.string({ unit: fc.constantFrom(..."aZ0:@/?#[]%+&= é💬"), minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(text, text, (username, password) => {
        const url = `redis+sentinel://${encodeURIComponent(username)}:${encodeURIComponent(password)}@host/name`;
        const address = parseRedisUrl(url);
        expect(address).toMatchObject({ username, password, name: "redis+sentinel://host:26379/name/0" });
      }),
    );
  });

  test("whatever is written there, it is read or refused as a RemoraError", () => {
    const scheme = fc.constantFrom("redis://", "rediss://", "redis+sentinel://", "redis+cluster://", "");
    const piece = fc.constantFrom(":", "@", "/", ",", "[", "]", "%", "host", "1", "?", "#", "é");
    fc.assert(
      fc.property(scheme, fc.array(piece, { maxLength: 12 }), (start, pieces) => {
        try {
          const address = parseRedisUrl(start + pieces.join(""));
          expect(address.name.startsWith("redis")).toBe(true);
        } catch (thrown) {
          expect(thrown).toBeInstanceOf(RemoraError);
        }
      }),
    );
  });
});
