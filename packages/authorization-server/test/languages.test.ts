/** Languages of the pages: complete texts, content negotiation, and the language switch. */
import { describe, expect, it } from 'vitest';
import { languages, languageTags, preferredLanguage } from '../src/ui/texts/languages.ts';
import { placeholdersOf, type TextName } from '../src/ui/texts/texts.ts';
import { CALLBACK, ISSUER, RESOURCES, redemption } from './server-under-test.ts';
import {
  EMAIL,
  PASSWORD,
  requestOf,
  type Sight,
  setScene,
  textOf,
  VERIFIER,
  type Visitor,
} from './visitor.ts';

/** Follows the language switch of a page, sending a referrer. */
function switchOn(visitor: Visitor, { html, path }: Sight): Promise<Sight> {
  const link = /<a href="([^"]+)" lang="(?:de|en)" hreflang/.exec(html)?.[1] ?? '';
  return visitor.open(link.replaceAll('&amp;', '&'), { headers: { referer: `${ISSUER}${path}` } });
}

describe('the texts', () => {
  it.each(languageTags)(
    'the texts are complete in %s, with the same placeholders as in English',
    (language) => {
      const texts = languages[language];
      expect(Object.keys(texts).toSorted()).toEqual(Object.keys(languages.en).toSorted());
      for (const [name, text] of Object.entries(texts)) {
        expect([name, placeholdersOf(text)]).toEqual([name, placeholdersOf(languages.en[name as TextName])]);
        expect(text.trim()).toBe(text);
        expect(text).not.toMatch(/!|\bscope|\bgrant\b|\bauthori[sz]e/i);
      }
    },
  );

  it.each(languageTags.filter((language) => language !== 'en'))(
    'the texts in %s are translated, except a few words that are the same',
    (language) => {
      const same = Object.keys(languages.en).filter(
        (name) => languages.en[name as TextName] === languages[language][name as TextName],
      );
      expect(same.filter((name) => !['account.passkeys', 'code.label'].includes(name))).toEqual([]);
    },
  );
});

describe('the language that a browser prefers', () => {
  it.each([
    [null, 'en'],
    ['', 'en'],
    ['de', 'de'],
    ['de-AT,en;q=0.8', 'de'],
    ['en-GB,de;q=0.9', 'en'],
    ['de;q=0.5,en;q=0.9', 'en'],
    ['en;q=0.5,de;q=0.5', 'en'],
    ['fr,es;q=0.9', 'fr'],
    ['es-MX,fr;q=0.9', 'es'],
    ['ja', 'ja'],
    ['zh-Hans-CN,en;q=0.1', 'zh'],
    ['it,nl;q=0.9', 'en'],
    ['it,de;q=0.1', 'de'],
    ['*', 'en'],
    ['de;q=0', 'en'],
    ['DE', 'de'],
    ['__proto__, constructor', 'en'],
    [`${'x,'.repeat(5000)}de`, 'en'],
  ] as const)('the browser’s preference %s selects the language %s', (header, language) => {
    expect(preferredLanguage(header)).toBe(language);
  });
});

describe('pages in another language', () => {
  const german = { 'accept-language': 'de-DE,de;q=0.9,en;q=0.5' };

  it('pages keep the chosen language from login to consent and errors', async () => {
    const t = await setScene();
    t.visitor.headers = german;
    const login = await t.visitor.open(requestOf());
    expect(login.html).toContain('<html lang="de">');
    expect(textOf(login)).toContain('um mit web fortzufahren');
    const wrong = await t.visitor.submit(login, { email: EMAIL, password: 'wrong' });
    expect(textOf(wrong)).toContain('E-Mail-Adresse oder Passwort ist falsch.');
    const consent = await t.visitor.submit(wrong, { email: EMAIL, password: PASSWORD });
    expect(textOf(consent)).toMatch(/web möchte Notes verwenden .*Abbrechen Zugriff erlauben/);
    const gone = await t.visitor.open('/consent?flow=flow_x');
    expect(textOf(gone)).toMatch(/Diese Anfrage ist nicht mehr offen .*Kennung/);
    const refused = await t.newVisitor().open(requestOf({ client_id: 'unknown' }), { headers: german });
    expect(textOf(refused)).toContain('Diese App ist hier nicht registriert');
    expect((await t.visitor.submit(consent, { decision: 'allow' })).left?.searchParams.has('code')).toBe(
      true,
    );
  });

  it('pages describe servers and scopes in the operator’s translations, with the default texts as fallback', async () => {
    const [notes] = RESOURCES;
    if (notes === undefined) throw new Error('nothing is protected');
    const scopes = { 'notes:read': 'Ihre Notizen lesen' };
    const t = await setScene({
      resources: [{ ...notes, translations: { de: { name: 'Notizen', scopes } } }],
    });
    const request = requestOf({ scope: 'notes:read notes:write' });
    const english = await t.visitor.signIn(request);
    expect(textOf(english)).toMatch(/web wants to use Notes .*Read your notes.*Change your notes/);
    t.visitor.headers = german;
    const consent = await t.visitor.open(request);
    expect(textOf(consent)).toMatch(/web möchte Notizen verwenden .*Ihre Notizen lesen.*Change your notes/);
    const allowed = await t.visitor.submit(consent, { decision: 'allow' });
    const code = allowed.left?.searchParams.get('code') ?? '';
    await t.post('/token', {
      ...redemption(code, VERIFIER, 'web'),
      client_secret: 'web-secret',
      redirect_uri: CALLBACK,
    });
    expect(textOf(await t.visitor.open('/connections'))).toMatch(/auf Notizen .*Ihre Notizen lesen/);
    t.visitor.headers = {};
    expect(textOf(await t.visitor.open('/connections'))).toMatch(/on Notes .*Read your notes/);
  });

  it.each([
    ['fr-CA de', 'fr'],
    ['nl ja', 'ja'],
    ['nl', 'de'],
    ['', 'de'],
  ])('the app asks for pages in the languages "%s": they are in %s', async (ui_locales, language) => {
    const t = await setScene();
    t.visitor.headers = german;
    const login = await t.visitor.open(requestOf({ ui_locales }));
    expect([login.path.split('?')[0], /<html lang="(\w+)"/.exec(login.html)?.[1]]).toEqual([
      '/login',
      language,
    ]);
    const consent = await t.visitor.submit(login, { email: EMAIL, password: PASSWORD });
    expect(consent.html).toContain(`<html lang="${language}">`);
    const refused = await t
      .newVisitor()
      .open(requestOf({ client_id: 'unknown', ui_locales }), { headers: german });
    expect(refused.html).toContain(`<html lang="${language}">`);
  });

  it('pages are in the language that a pushed request asks for', async () => {
    const t = await setScene();
    const query = new URL(requestOf({ ui_locales: 'de' }), ISSUER).searchParams;
    const pushed = { ...Object.fromEntries(query), client_secret: 'web-secret' };
    const { body } = await t.post('/par', pushed);
    const opened = new URLSearchParams({ client_id: 'web', request_uri: String(body['request_uri']) });
    const login = await t.visitor.open(`/authorize?${opened}`);
    expect(login.html).toContain('<html lang="de">');
    const twice = await t.post('/par', [...Object.entries(pushed), ['ui_locales', 'en']]);
    expect(twice.body['error']).toBe('invalid_request');
  });

  it('a page whose URL repeats `ui_locales` is a page in the first language', async () => {
    const t = await setScene();
    const login = await t.visitor.open('/login?ui_locales=de&ui_locales=en');
    expect([login.status, login.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    expect(login.html).toContain('<html lang="de">');
  });

  it('a language that the user chose counts more than the one that the app asks for', async () => {
    const t = await setScene();
    await t.visitor.open('/language?to=es');
    const login = await t.visitor.open(requestOf({ ui_locales: 'fr' }));
    expect(login.html).toContain('<html lang="es">');
    expect(t.visitor.cookies.get('portcullis-language')).toBe('es');
  });

  it('the language switch leads back to the page and is remembered', async () => {
    const t = await setScene();
    const login = await t.visitor.open(requestOf());
    const link = /<a href="([^"]+)" lang="de"/.exec(login.html)?.[1] ?? '';
    const switched = await t.visitor.open(link, { headers: { referer: `${ISSUER}${login.path}` } });
    expect([switched.path, textOf(switched)]).toEqual([login.path, expect.stringContaining('Anmelden')]);
    expect(switched.trail[0]?.headers.getSetCookie()).toEqual([
      'portcullis-language=de; Max-Age=31536000; Path=/; HttpOnly; SameSite=Lax; Secure',
    ]);
    t.visitor.headers = { 'accept-language': 'en' };
    expect(textOf(await t.visitor.submit(switched, { email: EMAIL, password: PASSWORD }))).toContain(
      'Zugriff erlauben',
    );
    const back = await t.visitor.open('/language?to=en', { headers: { referer: `${ISSUER}/setup` } });
    expect(back.html).toContain('<html lang="en">');
  });

  it('the language switch works on a page that is a response to a form', async () => {
    const t = await setScene();
    const login = await t.visitor.open(requestOf({ scope: 'notes:read notes:write' }));
    const wrong = await t.visitor.submit(login, { email: EMAIL, password: 'x' });
    expect(wrong.path).toBe('/login');
    const german = await switchOn(t.visitor, wrong);
    expect([german.path, textOf(german)]).toEqual([
      login.path,
      expect.stringContaining('um mit web fortzufahren'),
    ]);
    const consent = await t.visitor.submit(german, { email: EMAIL, password: PASSWORD });
    const stale = await t.visitor.submit(consent, { decision: 'allow', token: 'x' });
    expect([stale.path, stale.status]).toEqual(['/consent', 403]);
    expect((await switchOn(t.visitor, stale)).path).toBe(consent.path);
    expect((await t.visitor.submit(consent, { decision: 'allow' })).left?.searchParams.has('code')).toBe(
      true,
    );
  });

  it('the language switch keeps an account link on a page with form errors', async () => {
    const t = await setScene();
    const added = await t.server.accounts.add('grace@example.org');
    const { pathname, search } = new URL('link' in added ? added.link : '');
    const link = await t.visitor.open(`${pathname}${search}`);
    const wrong = await t.visitor.submit(link, { password: 'x', password_again: 'x' });
    expect([wrong.path, wrong.status]).toEqual(['/invitation', 400]);
    const german = await switchOn(t.visitor, wrong);
    expect([german.path, german.status]).toEqual([link.path, 200]);
    const chosen = { password: PASSWORD, password_again: PASSWORD };
    expect((await t.visitor.submit(german, chosen)).path).toBe('/setup');
  });

  it.each([
    'https://evil.example/login',
    '//evil.example/',
    '/\\evil.example/',
    '/language?to=de',
    'javascript:alert(1)',
  ])('the language switch never redirects to %s (open redirect)', async (back) => {
    const t = await setScene();
    const headers = { referer: `${ISSUER}/login` };
    const sight = await t.visitor.open(`/language?${new URLSearchParams({ to: 'de', back })}`, { headers });
    expect([sight.status, sight.left, sight.trail]).toEqual([200, null, []]);
    const own = await t.visitor.open('/language?to=de&back=/account', { headers });
    expect(own.path).toBe('/login?to=account');
  });

  it.each([
    ['another site', 'https://evil.example/login'],
    ['an address that looks like our path', `${ISSUER}//evil.example/`],
    ['itself', `${ISSUER}/language?to=de`],
    ['no address', 'javascript:alert(1)'],
    ['nothing', undefined],
  ])('the language switch never follows a referrer to %s', async (_where, referer) => {
    const t = await setScene();
    const sight = await t.visitor.open('/language?to=de', {
      headers: referer === undefined ? {} : { referer },
    });
    expect([sight.status, sight.left, sight.trail]).toEqual([200, null, []]);
    expect(t.visitor.cookies.get('portcullis-language')).toBe('de');
  });

  it('pages are English for a cookie with an unknown language', async () => {
    const t = await setScene();
    t.visitor.cookies.set('portcullis-language', 'xx');
    expect((await t.visitor.open(requestOf())).html).toContain('<html lang="en">');
  });
});
