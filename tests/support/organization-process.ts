/** The identity provider of an organization as a process of its own, made with `jose`: discovery, keys, and assertions on request. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';

/** What the parent process asks for. */
interface Wanted {
  readonly claims: JWTPayload;
  readonly header: Readonly<Record<string, unknown>>;
}

const { privateKey, publicKey } = await generateKeyPair('ES256');
const jwk = { ...(await exportJWK(publicKey)), kid: 'organization', alg: 'ES256', use: 'sig' };

const server = createServer(async (request, response) => {
  const documents: Readonly<Record<string, object>> = {
    '/.well-known/openid-configuration': { issuer, jwks_uri: `${issuer}/keys` },
    '/keys': { keys: [jwk] },
  };
  if (request.url === '/sign') {
    response.end(await sign(JSON.parse(await text(request)) as Wanted));
    return;
  }
  const document = documents[request.url ?? ''];
  response.writeHead(document === undefined ? 404 : 200, { 'content-type': 'application/json' });
  response.end(JSON.stringify(document ?? {}));
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
process.stdout.write(`${issuer}\n`);
// The parent process has gone: stop.
process.stdin.resume().once('end', () => process.exit(0));

function sign({ claims, header }: Wanted): Promise<string> {
  return new SignJWT({ iss: issuer, jti: crypto.randomUUID(), ...claims })
    .setProtectedHeader({ alg: 'ES256', kid: jwk.kid, typ: 'oauth-id-jag+jwt', ...header })
    .setIssuedAt()
    .setExpirationTime('5m')
    .sign(privateKey);
}
