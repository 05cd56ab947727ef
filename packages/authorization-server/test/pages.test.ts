/** Pure rules of the pages: the next step of a transaction, display names, cookies, and resolved scopes. */
import { describe, expect, it } from 'vitest';
import { costHere } from '../../../tests/support/cost.ts';
import { actingAccountOf, nextStep } from '../src/authorization/next-step.ts';
import { displayName } from '../src/display-name.ts';
import { defineCookie } from '../src/http/cookies.ts';

describe('the next step of an authorization transaction', () => {
  it.each([
    ['login without a user', { accountId: null, decision: null }, { show: 'login' }],
    [
      'login without a user, though scopes are approved',
      { accountId: null, decision: ['a'] },
      { show: 'login' },
    ],
    ['consent once a user has logged in', { accountId: 'ada', decision: null }, { show: 'consent' }],
    [
      'the code once the user has consented',
      { accountId: 'ada', decision: ['a'] },
      { issueCode: { accountId: 'ada', decision: ['a'] } },
    ],
    [
      'the code once the user has consented to no scopes',
      { accountId: 'ada', decision: [] },
      { issueCode: { accountId: 'ada', decision: [] } },
    ],
  ])('the next step of an authorization transaction is %s', (_description, progress, step) => {
    expect(nextStep(progress)).toEqual(step);
  });
});

describe('the acting account of a transaction', () => {
  it.each([
    ['none without a session', { accountId: null, forceLogin: false }, null, null],
    ['none after the user who opened it has logged out', { accountId: 'ada', forceLogin: false }, null, null],
    ['the signed-in one', { accountId: null, forceLogin: false }, 'ada', 'ada'],
    ['the signed-in one after a change of users', { accountId: 'ada', forceLogin: false }, 'bob', 'bob'],
    [
      'none until a fresh login, if the client asks for one',
      { accountId: null, forceLogin: true },
      'ada',
      null,
    ],
    ['the one that made the fresh login', { accountId: 'ada', forceLogin: true }, 'ada', 'ada'],
    ['none when another user made the fresh login', { accountId: 'ada', forceLogin: true }, 'bob', null],
  ])('the acting account of a transaction is %s', (_description, record, signedIn, accountId) => {
    expect(actingAccountOf(record, signedIn)).toBe(accountId);
  });
});

describe('a display name', () => {
  it.each([
    ['leaves an honest name unchanged', 'Notes CLI 2.0 – für Ada', 'Notes CLI 2.0 – für Ada'],
    ['joins lines', ' Notes\r\n\r\n\tCLI\u2028x ', 'Notes CLI x'],
    ['drops bidirectional controls', 'Notes\u202egnp.exe\u2066', 'Notesgnp.exe'],
    ['drops invisible characters', 'No\u200bt\u00ades\ufeff\u2800\u3164', 'Notes'],
    ['limits stacked combining marks', `q${'\u0301'.repeat(40)}x`, 'q\u0301\u0301x'],
    ['truncates a long name', 'ab'.repeat(100), `${'ab'.repeat(24)}a…`],
    ['counts code points, not UTF-16 units', '🗝'.repeat(60), `${'🗝'.repeat(49)}…`],
    ['is empty for an invisible name', '\u200e \u2800', ''],
  ])('a display name %s', (_description, given, expected) => {
    expect(displayName(given)).toBe(expected);
  });

  it('processes no more of a name than can be shown', () => {
    const name = `q${'\u0301'.repeat(40_000)}${'\u0327'.repeat(40_000)}`;
    expect(costHere(() => expect(displayName(name)).toBe('q\u0301\u0301'))).toBeLessThan(200);
  });
});

describe('a cookie', () => {
  const value = 'v'.repeat(43);
  const read = (issuer: string, header: string) =>
    defineCookie(issuer, 'session').read(new Request('https://as.example/', { headers: { cookie: header } }));

  it('T071: a cookie has the prefix __Host- over https, and the port in its name on loopback', () => {
    expect(defineCookie('https://as.example', 'session').write(value, 60)).toBe(
      `__Host-portcullis-session=${value}; Max-Age=60; Path=/; HttpOnly; SameSite=Lax; Secure`,
    );
    expect(defineCookie('http://localhost:8484', 'session').write(value, 60)).toBe(
      `portcullis-8484-session=${value}; Max-Age=60; Path=/; HttpOnly; SameSite=Lax`,
    );
    expect(defineCookie('http://localhost', 'session').clear()).toMatch(
      /^portcullis-80-session=; Max-Age=0; /,
    );
  });

  it.each([
    ['alone', `__Host-portcullis-session=${value}`, value],
    ['among others', `a=b; __Host-portcullis-session=${value}; c`, value],
    ['of the wrong form', '__Host-portcullis-session=short', null],
    ['with something behind it', `__Host-portcullis-session=${value}x`, null],
    ['without its prefix', `portcullis-session=${value}`, null],
    ['in other letters', `__host-portcullis-session=${value}`, null],
    ['that is empty', '__Host-portcullis-session=', null],
    ['that is none', ';;=;', null],
  ])('a cookie is read when it stands %s', (_description, header, expected) => {
    expect(read('https://as.example', header)).toBe(expected);
  });
});
