/** An issuer of assertions for tests: a loopback server with a discovery document and keys, and a signer. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import { onTestFinished } from 'vitest';
import { ISSUER } from './server-under-test.ts';

type Key = Awaited<ReturnType<typeof generateKeyPair>>['privateKey'];
type Changes = Readonly<Record<string, unknown>>;

export interface AssertionIssuerUnderTest {
  readonly issuer: string;
  /** The requested paths, in order. */
  readonly asked: string[];
  /** Signs an ID-JAG for Ada and the client `agent`; members that are `undefined` are left out. */
  idJag(claims?: Changes, header?: Changes): Promise<string>;
  /** Signs a token of a workload. */
  workload(claims?: Changes, header?: Changes): Promise<string>;
  /** Replaces the key, under another identifier unless one is named. */
  rotate(kid?: string): Promise<void>;
  /** Responds to discovery with this status from now on. */
  failDiscovery(status: number): void;
}

export interface IssuerPaths {
  /** Of the issuer. */
  readonly path?: string;
  /** Of its discovery document. */
  readonly documentAt?: string;
}

/** @param clock epoch seconds */
export async function startAssertionIssuer(
  clock: { readonly now: number } = { now: 1_800_000_000 },
  kid = 'one',
  { path = '', documentAt = '/.well-known/openid-configuration' }: IssuerPaths = {},
): Promise<AssertionIssuerUnderTest> {
  let pair = await makePair(kid);
  const asked: string[] = [];
  let discoveryStatus = 200;
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    const documents: Readonly<Record<string, object>> = {
      [documentAt]: { issuer, jwks_uri: `${issuer}/keys` },
      [`${path}/keys`]: { keys: [pair.jwk] },
    };
    const document = documents[request.url ?? ''];
    const status = request.url?.includes('/.well-known/') ? discoveryStatus : 200;
    response.writeHead(document === undefined ? 404 : status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(document ?? {}));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`;
  const sign = (claims: Changes, header: Changes) =>
    new SignJWT({
      iss: issuer,
      aud: ISSUER,
      iat: clock.now,
      exp: clock.now + 300,
      jti: crypto.randomUUID(),
      ...claims,
    })
      .setProtectedHeader({ alg: 'ES256', kid: pair.jwk.kid as string, ...header })
      .sign(pair.privateKey);
  return {
    issuer,
    asked,
    idJag: (claims = {}, header = {}) =>
      sign({ sub: 'ada-at-acme', client_id: 'agent', ...claims }, { typ: 'oauth-id-jag+jwt', ...header }),
    workload: (claims = {}, header = {}) =>
      sign({ sub: 'repo:acme/app:ref:refs/heads/main', ...claims }, { typ: 'JWT', ...header }),
    async rotate(next = 'two') {
      pair = await makePair(next);
    },
    failDiscovery(status) {
      discoveryStatus = status;
    },
  };
}

async function makePair(kid: string): Promise<{ readonly privateKey: Key; readonly jwk: JWK }> {
  const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
  return { privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg: 'ES256' } };
}
