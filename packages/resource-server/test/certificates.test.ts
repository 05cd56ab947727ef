/** Certificate-bound tokens (mutual TLS), over real TLS and behind a proxy that terminates it. */
import 'reflect-metadata';
import { createHash } from 'node:crypto';
import { createServer, request as httpsRequest, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { X509CertificateGenerator } from '@peculiar/x509';
import { exportPKCS8, generateKeyPair } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { protect } from '../src/adapters/fetch.ts';
import { protectNode } from '../src/adapters/node.ts';
import { ConfigurationError, createGuard, type Guard, type SharedGuardOptions } from '../src/index.ts';
import { createHolder } from './support/holder.ts';
import { createIssuer, NOW, RESOURCE, type TestIssuer } from './support/issuer.ts';

/** A self-signed client certificate. */
interface Certificate {
  readonly cert: string;
  readonly key: string;
  /** DER in base64. */
  readonly base64: string;
  readonly thumbprint: string;
}

let issuer: TestIssuer;
let mine: Certificate;
let foreign: Certificate;

beforeAll(async () => {
  issuer = await createIssuer();
  [mine, foreign] = await Promise.all([makeCertificate('mine'), makeCertificate('foreign')]);
});

async function makeCertificate(name: string): Promise<Certificate> {
  const keys = await generateKeyPair('ES256', { extractable: true });
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: `CN=${name}`,
    notBefore: new Date(Date.now() - 60_000),
    notAfter: new Date(Date.now() + 3_600_000),
    signingAlgorithm: { name: 'ECDSA', hash: 'SHA-256' },
    keys,
  });
  const der = Buffer.from(certificate.rawData);
  return {
    cert: certificate.toString('pem'),
    key: await exportPKCS8(keys.privateKey),
    base64: der.toString('base64'),
    thumbprint: createHash('sha256').update(der).digest('base64url'),
  };
}

function guardWith(settings: Partial<SharedGuardOptions>): Guard {
  return createGuard({
    resource: RESOURCE,
    verifier: issuer.verifier(),
    clock: () => NOW,
    events: () => {},
    ...settings,
  });
}

const boundToken = (cnf: unknown = { 'x5t#S256': mine.thumbprint }): Promise<string> => issuer.token({ cnf });

describe('over TLS', () => {
  let server: Server;

  beforeAll(async () => {
    const { cert, key } = await makeCertificate('localhost');
    const guard = guardWith({ certificates: { from: 'tls' } });
    const handler = protectNode(guard, (_request, response, who) => void response.end(who.subject));
    server = createServer({ cert, key, requestCert: true, rejectUnauthorized: false }, handler);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });

  afterAll(() => void server.close());

  function send(token: string, certificate: Certificate | null, field?: string): Promise<number> {
    const { port } = server.address() as AddressInfo;
    const headers = {
      authorization: `Bearer ${token}`,
      ...(field !== undefined && { 'client-cert': field }),
    };
    const shown = certificate === null ? {} : { cert: certificate.cert, key: certificate.key };
    const options = {
      host: '127.0.0.1',
      port,
      path: '/mcp',
      rejectUnauthorized: false,
      agent: false,
      headers,
    };
    return new Promise((resolve, reject) => {
      const request = httpsRequest({ ...options, ...shown }, (response) => {
        response.resume().on('end', () => resolve(response.statusCode ?? 0));
      });
      request.on('error', reject).end();
    });
  }

  it('accepts a certificate-bound token over a connection with its certificate, and over no other', async () => {
    const token = await boundToken();
    expect(await send(token, mine)).toBe(200);
    expect(await send(token, foreign)).toBe(401);
    expect(await send(token, null)).toBe(401);
    expect(await send(token, mine)).toBe(200);
  });

  it('ignores a Client-Cert header from a client', async () => {
    expect(await send(await boundToken(), null, `:${mine.base64}:`)).toBe(401);
  });

  it('accepts a bearer token too', async () => {
    expect(await send(await issuer.token(), null)).toBe(200);
  });
});

describe('behind a proxy that terminates TLS', () => {
  async function send(
    token: string,
    headers: Record<string, string>,
    settings: Partial<SharedGuardOptions> = {},
  ) {
    const guard = guardWith({ certificates: { from: 'field' }, ...settings });
    const handle = protect(guard, (_request, principal) => new Response(principal.subject));
    const scheme = 'dpop' in headers ? 'DPoP' : 'Bearer';
    const fields = { authorization: `${scheme} ${token}`, ...headers };
    return handle(new Request(RESOURCE, { method: 'POST', headers: fields }));
  }

  const fields: readonly [string, () => string, number][] = [
    ['DER between colons', () => `:${mine.base64}:`, 200],
    ['PEM in percent-encoding', () => encodeURIComponent(mine.cert), 200],
    ['another certificate', () => `:${foreign.base64}:`, 401],
    ['another certificate as PEM', () => encodeURIComponent(foreign.cert), 401],
    ['nothing', () => '', 401],
    ['colons alone', () => '::', 401],
    ['no base64', () => ':%:', 401],
    ['a broken encoding', () => '%E0%A4%A', 401],
    ['two certificates', () => `:${mine.base64}:, :${foreign.base64}:`, 401],
    ['a certificate without its colons', () => mine.base64, 401],
    ['a field that is too long', () => `:${'A'.repeat(20_000)}:`, 401],
  ];

  it.each(fields)(
    'checks a certificate-bound token against the Client-Cert header: %s',
    async (_, field, status) => {
      const response = await send(await boundToken(), { 'client-cert': field() });
      expect(response.status).toBe(status);
      if (status === 401) {
        expect(response.headers.get('www-authenticate')).toContain('error="invalid_token"');
        expect(response.headers.get('www-authenticate')).toContain('certificate it is bound to');
      }
    },
  );

  it('rejects a certificate-bound token without the Client-Cert header', async () => {
    expect((await send(await boundToken(), {})).status).toBe(401);
  });

  it('requires proof of both for a token bound to a key and a certificate', async () => {
    const holder = await createHolder();
    const token = await boundToken({ jkt: holder.thumbprint, 'x5t#S256': mine.thumbprint });
    const field = { 'client-cert': `:${mine.base64}:` };
    const both = async () => ({ ...field, dpop: await holder.prove(token) });
    expect((await send(token, await both(), { dpop: {} })).status).toBe(200);
    expect((await send(token, { dpop: await holder.prove(token) }, { dpop: {} })).status).toBe(401);
    expect((await send(token, field, { dpop: {} })).status).toBe(401);
  });

  it.each([
    ['in an unknown way', { 'x5t#S256': 'set below', kid: 'k' }],
    ['to nothing', {}],
    ['to a number', { 'x5t#S256': 1 }],
    ['by a word', 'certificate'],
    ['by a list', ['x5t#S256']],
  ])('rejects a token that is bound %s', async (_, cnf) => {
    const known = typeof cnf === 'object' && 'kid' in cnf ? { ...cnf, 'x5t#S256': mine.thumbprint } : cnf;
    expect((await send(await boundToken(known), { 'client-cert': `:${mine.base64}:` })).status).toBe(401);
    expect((await send(await boundToken(), { 'client-cert': `:${mine.base64}:` })).status).toBe(200);
  });
});

describe('options of client certificates', () => {
  it('rejects certificate-bound tokens if certificates are not enabled', async () => {
    const authorization = `Bearer ${await boundToken()}`;
    const requestInfo = { method: 'GET', url: '/mcp', authorization, clientCertificate: `:${mine.base64}:` };
    expect((await guardWith({}).authorize(requestInfo)).authorized).toBe(false);
    expect((await guardWith({ certificates: { from: 'field' } }).authorize(requestInfo)).authorized).toBe(
      true,
    );
  });

  it('publishes certificate-bound tokens in the metadata', () => {
    const url = '/.well-known/oauth-protected-resource/mcp';
    const document = guardWith({ certificates: { from: 'tls' } }).publicResponse({
      method: 'GET',
      url,
      authorization: null,
    });
    expect(JSON.parse(document?.body ?? '')).toMatchObject({
      tls_client_certificate_bound_access_tokens: true,
    });
    const without = guardWith({}).publicResponse({ method: 'GET', url, authorization: null });
    expect(without?.body).not.toContain('tls_client');
  });

  it('rejects an unknown source of client certificates', () => {
    expect(() => guardWith({ certificates: { from: 'anywhere' } as never })).toThrow(ConfigurationError);
  });
});
