/**
 * A service on this machine through which people sign in: Slack (OpenID Connect without PKCE), Discord (OAuth 2), or another OpenID
 * provider. It refuses what those refuse: an unknown client or redirect address, a wrong secret, other scopes, a code that was
 * used before or belongs to another request. The person is signed in there already, so it sends the browser back at once.
 *
 * Forms: https://slack.com/.well-known/openid-configuration, https://discord.com/.well-known/oauth-authorization-server,
 * https://docs.slack.dev/authentication/sign-in-with-slack and https://docs.discord.com/developers/topics/oauth2
 */
import { createHash, randomBytes } from "node:crypto";
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { createTokenSigner, type Signing } from "./tokens.ts";

export type ProviderKind = "slack" | "discord" | "oidc";

export interface ProviderOptions {
  kind: ProviderKind;
  clientId: string;
  clientSecret: string;
  redirectUri: string;
  /** Slack: the workspace that the address must name. */
  team?: string;
  /** The scopes that the address must ask for; by default those of the service. */
  scope?: string;
  /** Answers everything else, as the Web API does at the same host. */
  elsewhere?: string;
}

export interface IdentityProvider {
  url: string;
  /** Claims of the ID token, or Discord's user object, of whoever signs in next. */
  person: Record<string, unknown>;
  tampering: Tampering;
  /** Parameters of each request that was accepted. */
  authorizations: Record<string, string>[];
  /** Codes exchanged for tokens, and why others were refused. */
  exchanges: string[];
  close(): Promise<void>;
}

/** What an attacker, or a broken provider, makes of the answers. */
export interface Tampering {
  /** `undefined` removes a claim. */
  claims?: Record<string, unknown>;
  signing?: Signing;
  hasNoIdToken?: boolean;
  /** The parameter `iss` of the way back. */
  issuer?: string;
  /** Discord's status when it is asked who somebody is. */
  userStatus?: number;
  isDown?: boolean;
}

interface Grant {
  redirectUri: string;
  nonce: string | undefined;
  challenge: string | undefined;
  isUsed: boolean;
  person: Record<string, unknown>;
}

const paths = {
  slack: { authorize: "/openid/connect/authorize", token: "/api/openid.connect.token", keys: "/openid/connect/keys" },
  discord: { authorize: "/oauth2/authorize", token: "/api/oauth2/token", keys: "/api/oauth2/keys" },
  oidc: { authorize: "/authorize", token: "/token", keys: "/keys" },
};
const scopes = { slack: "openid profile", discord: "identify", oidc: "openid profile" };
const tokenSeconds = 300;

export async function createIdentityProvider(options: ProviderOptions): Promise<IdentityProvider> {
  const { kind, clientId, clientSecret, redirectUri, team, scope = scopes[options.kind] } = options;
  const signer = createTokenSigner();
  const grants = new Map<string, Grant>();
  const accessTokens = new Map<string, Grant>();
  const server = createServer((request, response) => {
    answer(request, response).catch((thrown: unknown) => {
      if (!(thrown instanceof Refusal)) throw thrown;
      provider.exchanges.push(thrown.message);
      // Slack answers 200 to everything.
      const body = kind === "slack" ? { ok: false, error: thrown.message } : { error: thrown.message };
      send(response, kind === "slack" ? 200 : 400, body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider: IdentityProvider = {
    ...{ url, person: {}, tampering: {}, authorizations: [], exchanges: [] },
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? "/", url);
    const { method } = request;
    if (provider.tampering.isDown === true) return send(response, 503, { error: "unavailable" });
    if (method === "GET" && pathname === "/.well-known/openid-configuration" && kind !== "discord")
      return send(response, 200, metadata());
    if (method === "GET" && pathname === paths[kind].keys && kind !== "discord")
      return send(response, 200, signer.keys);
    if (method === "GET" && pathname === paths[kind].authorize) return authorize(searchParams, response);
    if (method === "POST" && pathname === paths[kind].token) return await exchange(request, response);
    if (method === "GET" && pathname === "/api/users/@me" && kind === "discord") return user(request, response);
    if (options.elsewhere === undefined) return send(response, 404, { error: "not_found" });
    passOn(options.elsewhere, request, response);
  }

  function metadata() {
    return {
      issuer: url,
      authorization_endpoint: url + paths[kind].authorize,
      token_endpoint: url + paths[kind].token,
      jwks_uri: url + paths[kind].keys,
      response_types_supported: ["code"],
      subject_types_supported: ["public"],
      id_token_signing_alg_values_supported: ["RS256"],
      ...(kind === "slack"
        ? { token_endpoint_auth_methods_supported: ["client_secret_post", "client_secret_basic"] }
        : {}),
      // Says nothing about the secret, which therefore belongs in the header.
      ...(kind === "oidc"
        ? { code_challenge_methods_supported: ["S256"], authorization_response_iss_parameter_supported: true }
        : {}),
    };
  }

  /** Sends the browser back at once, because the person is signed in there already. */
  function authorize(given: URLSearchParams, response: ServerResponse): void {
    const params = Object.fromEntries(given);
    const expected = {
      client_id: clientId,
      redirect_uri: redirectUri,
      response_type: "code",
      scope,
      ...(team === undefined ? {} : { team }),
      // With a client secret, Slack answers `internal_error` to PKCE.
      code_challenge_method: kind === "slack" ? undefined : "S256",
    };
    const wrong = Object.entries(expected).find(
      ([name, value]) => params[name] !== value || given.getAll(name).length > 1,
    );
    const lacks = kind === "discord" ? ["state"] : ["state", "nonce"];
    const missing = lacks.find((name) => (params[name] ?? "").length < 16);
    if (wrong !== undefined || missing !== undefined) {
      send(response, 400, { error: wrong?.[0] ?? missing });
      return;
    }
    const code = randomBytes(16).toString("hex");
    grants.set(code, {
      ...{ redirectUri, nonce: params.nonce, challenge: params.code_challenge, isUsed: false, person: provider.person },
    });
    provider.authorizations.push(params);
    const back = new URL(redirectUri);
    back.searchParams.set("code", code);
    back.searchParams.set("state", params.state ?? "");
    if (kind !== "slack") back.searchParams.set("iss", provider.tampering.issuer ?? url);
    response.writeHead(302, { location: back.href }).end();
  }

  async function exchange(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const form = new URLSearchParams(await text(request));
    const grant = grants.get(form.get("code") ?? "");
    if (!isClient(form, request.headers.authorization)) throw new Refusal("invalid_client");
    if (form.get("grant_type") !== "authorization_code") throw new Refusal("unsupported_grant_type");
    if (grant === undefined || grant.isUsed || grant.redirectUri !== form.get("redirect_uri"))
      throw new Refusal("invalid_grant");
    const verifier = form.get("code_verifier") ?? undefined;
    if (grant.challenge !== (verifier === undefined ? undefined : challengeOf(verifier)))
      throw new Refusal("invalid_verifier");
    grant.isUsed = true;
    const accessToken = `access-${randomBytes(16).toString("hex")}`;
    accessTokens.set(accessToken, grant);
    provider.exchanges.push("ok");
    const { hasNoIdToken = kind === "discord" } = provider.tampering;
    send(response, 200, {
      ...(kind === "slack" ? { ok: true } : { expires_in: 604_800, scope }),
      ...{ access_token: accessToken, token_type: "Bearer" },
      ...(hasNoIdToken ? {} : { id_token: idToken(grant) }),
    });
  }

  function isClient(form: URLSearchParams, authorization: string | undefined): boolean {
    const inBody = form.get("client_id") === clientId && form.get("client_secret") === clientSecret;
    if (kind !== "oidc") return inBody;
    const given = Buffer.from(authorization?.replace(/^Basic /, "") ?? "", "base64").toString();
    const parts = given.split(":").map((part) => decodeURIComponent(part.replaceAll("+", " ")));
    return parts[0] === clientId && parts[1] === clientSecret && !form.has("client_secret");
  }

  function idToken({ nonce, person }: Grant): string {
    const at = Math.floor(Date.now() / 1_000);
    const usual = { iss: url, aud: clientId, iat: at, exp: at + tokenSeconds, nonce };
    return signer.sign({ ...usual, ...person, ...provider.tampering.claims }, provider.tampering.signing ?? "own key");
  }

  function user(request: IncomingMessage, response: ServerResponse): void {
    const [, accessToken = ""] = request.headers.authorization?.match(/^Bearer (\S+)$/) ?? [];
    const grant = accessTokens.get(accessToken);
    const status = grant === undefined ? 401 : (provider.tampering.userStatus ?? 200);
    send(response, status, status === 200 ? grant?.person : { message: "401: Unauthorized", code: 0 });
  }

  return provider;
}

class Refusal extends Error {}

function passOn(origin: string, request: IncomingMessage, response: ServerResponse): void {
  const { method, headers } = request;
  const passed = httpRequest(new URL(request.url ?? "/", origin), { method, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
  });
  passed.on("error", () => response.destroy());
  request.pipe(passed);
}

function challengeOf(verifier: string): string {
  return createHash("sha256").update(verifier).digest("base64url");
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json", "cache-control": "no-store" });
  response.end(JSON.stringify(body));
}
