/** The federated login cookie: its attributes, and what it is bound to. */
import { describe, expect, it } from 'vitest';
import { comeBack, leaveFor, openId, setUpstreamScene, startFiles, stayAt } from './federation-scene.ts';
import { requestOf, type Sight } from './visitor.ts';

function federatedLoginCookieOf({ headers, trail }: Sight): string {
  const all = [...trail.map((one) => one.headers), headers].flatMap((one) => one.getSetCookie());
  return all.find((line) => line.includes('federated-login') && !line.includes('Max-Age=0')) ?? '';
}

describe('the cookie of a departure', () => {
  it('[GW-CONS-48] is ours alone, for the whole host, secret to scripts, short-lived, and says nothing', async () => {
    const t = await setUpstreamScene([openId(await startFiles())]);
    const line = federatedLoginCookieOf(await leaveFor(t.visitor));
    const [pair = '', ...attributes] = line.split('; ');
    expect(pair).toMatch(/^__Host-portcullis-federated-login-[\w-]{8}=[\w-]{43}$/);
    expect(attributes.toSorted()).toEqual(['HttpOnly', 'Max-Age=600', 'Path=/', 'SameSite=Lax', 'Secure']);
  });

  it('[GW-CONS-48] is good for the client that was allowed, and for no other of the same person', async () => {
    const files = await startFiles();
    const t = await setUpstreamScene([openId(files)]);
    const desktop = { client_id: 'desktop', redirect_uri: 'http://127.0.0.1:3000/callback' };
    await leaveFor(t.visitor);
    const { left } = await leaveFor(t.visitor, requestOf(desktop));
    const [own, other] = [...t.visitor.cookies].filter(([name]) => name.includes('federated-login'));
    if (own === undefined || other === undefined) throw new Error('there are not two federated logins');
    const back = await stayAt(t.visitor, left);
    // What was allowed to the one client stands in for nothing that the other asks.
    t.visitor.cookies.set(other[0], own[1]);
    const before = files.count('POST /token');
    expect((await comeBack(t.visitor, back)).status).toBe(403);
    expect(files.count('POST /token')).toBe(before);
    t.visitor.cookies.set(other[0], other[1]);
    expect((await comeBack(t.visitor, back)).left?.searchParams.has('code')).toBe(true);
  });
});
