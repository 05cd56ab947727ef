/** A transmitter of security events for tests: configuration, stream management, verification, polling, and a signer. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { onTestFinished } from 'vitest';

type Json = Readonly<Record<string, unknown>>;

/** A request that it received. */
interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly authorization: string | undefined;
  readonly body: Json;
  /** Milliseconds. */
  readonly at: number;
}

export interface TransmitterUnderTest {
  readonly issuer: string;
  readonly requests: readonly ReceivedRequest[];
  /** Its streams, as stream management returns them. */
  readonly streams: Json[];
  /** Tokens that the next polls return, by `jti`; those acknowledged or refused are removed. */
  readonly pending: Map<string, string>;
  /** Whether it responds to everything with 503. */
  isDown: boolean;
  /** Whether it sends everything again, acknowledged or not, and says that there is more. */
  repeats: boolean;
  /** Where it says that its keys are. */
  jwksUri: string;
  /** Signs a security event token; members that are `undefined` are left out. */
  sign(claims?: Json, header?: Json): Promise<string>;
}

export const AUDIENCE = 'https://receiver.example';
export const TOKEN = 'stream-management-token';

/** @see Shared Signals Framework 1.0 §7 and §8, RFC 8936 §2 */
export async function startTransmitter(clock: { readonly now: number }): Promise<TransmitterUnderTest> {
  const { privateKey, publicKey } = await generateKeyPair('ES256');
  const keys = { keys: [{ ...(await exportJWK(publicKey)), kid: 'one', alg: 'ES256' }] };
  const requests: ReceivedRequest[] = [];
  const streams: Json[] = [];
  const pending = new Map<string, string>();
  const held: (() => void)[] = [];

  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    const { method = '', url: path = '' } = request;
    const body = (text === '' ? {} : JSON.parse(text)) as Json;
    const { authorization } = request.headers;
    requests.push({ method, path, authorization, body, at: performance.now() });
    const send = (status: number, json?: unknown) => {
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(json === undefined ? '' : JSON.stringify(json));
    };
    if (transmitter.isDown) return send(503);
    const isOpen = path === '/keys' || path === '/.well-known/ssf-configuration';
    if (!isOpen && authorization !== `Bearer ${TOKEN}`) return send(401);
    switch (`${method} ${path}`) {
      case 'GET /.well-known/ssf-configuration':
        return send(200, {
          spec_version: '1_0',
          issuer,
          jwks_uri: transmitter.jwksUri,
          configuration_endpoint: `${issuer}/streams`,
          verification_endpoint: `${issuer}/verify`,
        });
      case 'GET /keys':
        return send(200, keys);
      case 'GET /streams':
        return send(200, streams);
      case 'POST /streams': {
        const delivery = body['delivery'] as Json;
        const isPoll = delivery['method'] === 'urn:ietf:rfc:8936';
        streams.push({
          ...body,
          stream_id: `stream-${streams.length + 1}`,
          iss: issuer,
          aud: AUDIENCE,
          delivery: { ...delivery, ...(isPoll && { endpoint_url: `${issuer}/poll` }) },
        });
        return send(201, streams.at(-1));
      }
      case 'POST /verify':
        return send(204);
      case 'POST /poll': {
        if (transmitter.repeats) return send(200, { sets: Object.fromEntries(pending), moreAvailable: true });
        for (const id of [...(body['ack'] as string[]), ...Object.keys(body['setErrs'] as Json)])
          pending.delete(id);
        // A poll is held until there is something, or the test adds it.
        if (pending.size === 0) await new Promise<void>((resolve) => held.push(resolve));
        return send(200, { sets: Object.fromEntries(pending), moreAvailable: false });
      }
      default:
        return send(404);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const setPending = pending.set.bind(pending);
  pending.set = (id, token) => {
    setPending(id, token);
    for (const release of held.splice(0)) release();
    return pending;
  };
  const transmitter: TransmitterUnderTest = {
    ...{ issuer, requests, streams, pending },
    isDown: false,
    repeats: false,
    jwksUri: `${issuer}/keys`,
    sign: (claims = {}, header = {}) =>
      new SignJWT({ iss: issuer, aud: AUDIENCE, iat: clock.now, jti: crypto.randomUUID(), ...claims })
        .setProtectedHeader({ alg: 'ES256', kid: 'one', typ: 'secevent+jwt', ...header })
        .sign(privateKey),
  };
  return transmitter;
}
