/** The laws behind the pages: the next step, names of strangers, cookies, and what a request is resolved to. */
import { describe, expect, it } from 'vitest';
import { costHere } from '../../../tests/support/cost.ts';
import { nextStep, subjectOf } from '../src/authorization/next-step.ts';
import { displayName } from '../src/display-name.ts';
import { defineCookie } from '../src/http/cookies.ts';

describe('nextStep', () => {
  it.each([
    ['nobody, nothing', { subject: null, approved: null }, { show: 'login' }],
    ['nobody, though something is approved', { subject: null, approved: ['a'] }, { show: 'login' }],
    ['somebody, nothing', { subject: 'ada', approved: null }, { show: 'consent' }],
    [
      'somebody, something',
      { subject: 'ada', approved: ['a'] },
      { finish: { subject: 'ada', approved: ['a'] } },
    ],
    [
      'somebody, approved without scopes',
      { subject: 'ada', approved: [] },
      { finish: { subject: 'ada', approved: [] } },
    ],
  ])('%s', (_description, progress, step) => {
    expect(nextStep(progress)).toEqual(step);
  });
});

describe('subjectOf', () => {
  it.each([
    ['nobody is signed in', { accountId: null, forceLogin: false }, null, null],
    ['who began it has signed out', { accountId: 'ada', forceLogin: false }, null, null],
    ['somebody is signed in', { accountId: null, forceLogin: false }, 'ada', 'ada'],
    ['somebody else is signed in by now', { accountId: 'ada', forceLogin: false }, 'bob', 'bob'],
    ['a fresh sign-in is wanted', { accountId: null, forceLogin: true }, 'ada', null],
    ['a fresh sign-in was made', { accountId: 'ada', forceLogin: true }, 'ada', 'ada'],
    ['a fresh sign-in was made by somebody else', { accountId: 'ada', forceLogin: true }, 'bob', null],
  ])('%s', (_description, transaction, signedIn, subject) => {
    expect(subjectOf(transaction, signedIn)).toBe(subject);
  });
});

describe('presentable', () => {
  it.each([
    ['leaves an honest name alone', 'Notes CLI 2.0 – für Ada', 'Notes CLI 2.0 – für Ada'],
    ['puts lines on one', ' Notes\r\n\r\n\tCLI\u2028x ', 'Notes CLI x'],
    ['takes out what turns text round', 'Notes\u202egnp.exe\u2066', 'Notesgnp.exe'],
    ['takes out what cannot be seen', 'No\u200bt\u00ades\ufeff\u2800\u3164', 'Notes'],
    ['keeps marks from piling up', `q${'\u0301'.repeat(40)}x`, 'q\u0301\u0301x'],
    ['cuts what is long', 'ab'.repeat(100), `${'ab'.repeat(24)}a…`],
    ['counts letters, not their halves', '🗝'.repeat(60), `${'🗝'.repeat(49)}…`],
    ['leaves nothing of nothing', '\u200e \u2800', ''],
  ])('%s', (_description, given, expected) => {
    expect(displayName(given)).toBe(expected);
  });

  it('looks at no more of a name than could stand there', () => {
    const name = `q${'\u0301'.repeat(40_000)}${'\u0327'.repeat(40_000)}`;
    expect(costHere(() => expect(displayName(name)).toBe('q\u0301\u0301'))).toBeLessThan(200);
  });
});

describe('a cookie', () => {
  const value = 'v'.repeat(43);
  const read = (issuer: string, header: string) =>
    defineCookie(issuer, 'session').read(new Request('https://as.example/', { headers: { cookie: header } }));

  it('T071: has the prefix __Host- over https, and the port in its name on loopback', () => {
    expect(defineCookie('https://as.example', 'session').write(value, 60)).toBe(
      `__Host-portcullis-session=${value}; Max-Age=60; Path=/; HttpOnly; SameSite=Lax; Secure`,
    );
    expect(defineCookie('http://localhost:8484', 'browser').write(value, 60)).toBe(
      `portcullis-8484-browser=${value}; Max-Age=60; Path=/; HttpOnly; SameSite=Lax`,
    );
    expect(defineCookie('http://localhost', 'browser').clear()).toMatch(
      /^portcullis-80-browser=; Max-Age=0; /,
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
  ])('is read when it stands %s', (_description, header, expected) => {
    expect(read('https://as.example', header)).toBe(expected);
  });
});
