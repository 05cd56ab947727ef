/** The federated login cookie: its attributes, and what it authorizes. */
import { describe, expect, it } from 'vitest';
import {
  openCallback,
  openId,
  setFederationScene,
  signInAtProvider,
  startFederatedLogin,
  startFiles,
} from './federation-scene.ts';
import { requestOf, type Sight } from './visitor.ts';

function loginCookieOf({ headers, trail }: Sight): string {
  const all = [...trail.map((one) => one.headers), headers].flatMap((one) => one.getSetCookie());
  return all.find((line) => line.includes('federated-login') && !line.includes('Max-Age=0')) ?? '';
}

describe('the federated login cookie', () => {
  it('[GW-CONS-48] the federated login cookie has the __Host- prefix, HttpOnly, a short lifetime and an opaque value', async () => {
    const t = await setFederationScene([openId(await startFiles())]);
    const line = loginCookieOf(await startFederatedLogin(t.visitor));
    const [pair = '', ...attributes] = line.split('; ');
    expect(pair).toMatch(/^__Host-portcullis-federated-login-[\w-]{8}=[\w-]{43}$/);
    expect(attributes.toSorted()).toEqual(['HttpOnly', 'Max-Age=600', 'Path=/', 'SameSite=Lax', 'Secure']);
  });

  it('[GW-CONS-48] the federated login cookie works for the client the user allowed, and for no other', async () => {
    const files = await startFiles();
    const t = await setFederationScene([openId(files)]);
    const desktop = { client_id: 'desktop', redirect_uri: 'http://127.0.0.1:3000/callback' };
    await startFederatedLogin(t.visitor);
    const { left } = await startFederatedLogin(t.visitor, requestOf(desktop));
    const [own, other] = [...t.visitor.cookies].filter(([name]) => name.includes('federated-login'));
    if (own === undefined || other === undefined) throw new Error('two federated logins expected');
    const back = await signInAtProvider(t.visitor, left);
    // Consent for one client does not count for the other.
    t.visitor.cookies.set(other[0], own[1]);
    const before = files.count('POST /token');
    expect((await openCallback(t.visitor, back)).status).toBe(403);
    expect(files.count('POST /token')).toBe(before);
    t.visitor.cookies.set(other[0], other[1]);
    expect((await openCallback(t.visitor, back)).left?.searchParams.has('code')).toBe(true);
  });
});
