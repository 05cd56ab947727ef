// The guard in any runtime with Web APIs: accepts one token and rejects the others. Prints what each request was answered with.
import { createGuard, jwtVerifier } from '@portcullis/resource-server';
import { protect } from '@portcullis/resource-server/fetch';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';

const { publicKey, privateKey } = await generateKeyPair('ES256');
const jwks = { keys: [{ ...(await exportJWK(publicKey)), alg: 'ES256' }] };
const guard = createGuard({
  resource: 'http://localhost:3000/mcp',
  verifier: jwtVerifier({ issuer: 'https://test.example', jwks }),
});
const handle = protect(guard, (_request, principal) => new Response(`Hello, ${principal.subject}`));

/** Signs a token for the resource, or for another. */
const sign = (audience) =>
  new SignJWT({ client_id: 'test', jti: crypto.randomUUID() })
    .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt' })
    .setIssuer('https://test.example')
    .setSubject('alice')
    .setAudience(audience)
    .setIssuedAt()
    .setExpirationTime('5m')
    .sign(privateKey);

async function request(token) {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const response = await handle(
    new Request('http://localhost:3000/mcp', { method: 'POST', body: '{}', headers }),
  );
  return response.status === 200 ? response.text() : response.status;
}

const good = await sign('http://localhost:3000/mcp');
const foreign = await sign('http://localhost:3000/other');
console.log(JSON.stringify([await request(good), await request(foreign), await request()]));
process.exit();
