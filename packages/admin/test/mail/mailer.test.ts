/** One mail to real mail servers: its headers and bodies, refusals, and servers that are slow, full or lie about TLS. */
import 'reflect-metadata';
import dns from 'node:dns';
import { createServer } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { SubjectAlternativeNameExtension, X509CertificateGenerator } from '@peculiar/x509';
import { exportPKCS8, generateKeyPair } from 'jose';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { startMailServer } from '../../../../tests/support/mail-server.ts';
import { createMailer, type Mail } from '../../src/mail/mailer.ts';
import { type MailOptions, mailSchema } from '../../src/mail/options.ts';
import { type MailContent, renderMail } from '../../src/mail/template.ts';
import { mailTexts } from '../../src/mail/texts.ts';

const LOOK = { serverName: 'Portcullis', accent: '#1c4fc4' };
const MAIL: Mail = {
  id: '0mh1zk3f0-1i2abc4-9f3',
  to: 'ada@example.org',
  subject: 'S',
  text: 'T',
  html: '<p>H</p>',
};
/** Loopback for this computer, but a name that the mailer does not know as loopback. */
const ELSEWHERE = '127.0.0.2';

const optionsFor = (server: string, more: object = {}): MailOptions =>
  mailSchema().parse({ server, from: 'gate@example.com', ...more });

async function startServer(...given: Parameters<typeof startMailServer>) {
  const server = await startMailServer(...given);
  onTestFinished(() => server.close());
  return server;
}

async function createCertificate(host: string, type: 'ip' | 'dns' = 'ip') {
  const keys = await generateKeyPair('ES256', { extractable: true });
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: 'CN=mail',
    notBefore: new Date(Date.now() - 60_000),
    notAfter: new Date(Date.now() + 3_600_000),
    signingAlgorithm: { name: 'ECDSA', hash: 'SHA-256' },
    extensions: [new SubjectAlternativeNameExtension([{ type, value: host }])],
    keys,
  });
  return { cert: certificate.toString('pem'), key: await exportPKCS8(keys.privateKey) };
}

/** Trusts a certificate until the test has finished. */
function trust(cert: string): void {
  const before = getCACertificates();
  setDefaultCACertificates([...before, cert]);
  onTestFinished(() => setDefaultCACertificates(before));
}

const CONTENT: MailContent = {
  kind: 'connection',
  language: 'en',
  link: 'https://as.example/notice?token=x',
  facts: { app: 'Notes' },
};

describe('a mail', () => {
  it('has text and HTML, a stable Message-ID, and asks for no automatic response', async () => {
    const server = await startServer();
    const send = createMailer(optionsFor(server.url), 'Tor „Übermut“');
    const mail = { ...MAIL, ...renderMail(CONTENT, LOOK) };
    expect(await send(mail)).toMatchObject({ kind: 'delivered' });
    expect(await send(mail)).toMatchObject({ kind: 'delivered' });
    const [first, second] = server.mails;
    expect(first).toMatchObject({
      from: { address: 'gate@example.com', name: 'Tor „Übermut“' },
      recipients: ['ada@example.org'],
      subject: 'A new app is connected · Portcullis',
      messageId: '<0mh1zk3f0-1i2abc4-9f3@example.com>',
    });
    expect(second?.messageId).toBe(first?.messageId);
    expect(first?.headers).toContainEqual(
      expect.objectContaining({ key: 'auto-submitted', value: 'auto-generated' }),
    );
    for (const body of [first?.text, first?.html])
      expect(body).toContain('https://as.example/notice?token=x');
    expect(first?.html).not.toMatch(/<img|<script|src=|@import|url\(/);
  });

  it('keeps a hostile name out of the subject and headers, and escaped in its body', async () => {
    const server = await startServer();
    const send = createMailer(optionsFor(server.url), 'Gate\r\nBcc: eve@example.net');
    const app = '<img src=x onerror=alert(1)>\r\nBcc: eve@example.net\u202e"&';
    const mail = renderMail({ ...CONTENT, facts: { app } }, { ...LOOK, serverName: 'Gate\r\nX-Evil: yes' });
    await send({ ...MAIL, ...mail });
    const [received] = server.mails;
    expect(received?.recipients).toEqual(['ada@example.org']);
    expect(received?.headers.map(({ key }) => key)).not.toEqual(expect.arrayContaining(['bcc']));
    expect(received?.headers.map(({ key }) => key)).not.toEqual(expect.arrayContaining(['x-evil']));
    expect(received?.subject).toBe('A new app is connected · Gate X-Evil: yes');
    expect(received?.html).toContain('&lt;img src=x onerror=alert(1)&gt; Bcc: eve@example.net &quot;&amp;');
    expect(received?.html).not.toContain('<img');
    expect(received?.text).toContain('App: <img src=x onerror=alert(1)> Bcc: eve@example.net');
  });

  it.each([
    'a,b@example.org',
    'a@b@example.org',
    '<a@example.org>',
    'a\r\nRCPT TO:<b@example.org>@x',
    '"a b"@example.org',
  ])('is not sent to %j, which is no plain address', async (to) => {
    const server = await startServer();
    const send = createMailer(optionsFor(server.url), 'Gate');
    expect(await send({ ...MAIL, to })).toMatchObject({
      kind: 'rejected',
      reason: expect.stringContaining('no address'),
    });
    expect(server.mails).toEqual([]);
    expect(await send(MAIL)).toMatchObject({ kind: 'delivered' });
  });

  it('of every kind is written in every language, with the same facts', () => {
    for (const [language, texts] of Object.entries(mailTexts)) {
      for (const part of ['heading', 'what', 'actions', 'facts'] as const) {
        expect(Object.keys(texts[part])).toEqual(Object.keys(mailTexts.en[part]));
        expect(Object.values(texts[part])).not.toContain('');
      }
      for (const kind of Object.keys(mailTexts.en.what) as (keyof typeof texts.what)[])
        expect(language === 'en' || texts.what[kind] !== mailTexts.en.what[kind]).toBe(true);
    }
  });
});

describe('a mail server', () => {
  it.each([
    [
      'rejects the recipient',
      [550, '5.1.1 no such user ada@example.org'],
      { kind: 'rejected', reason: 'status 550 5.1.1' },
    ],
    [
      'has a full mailbox',
      [452, '4.2.2 mailbox full, id 17'],
      { kind: 'rejected', reason: 'status 452 4.2.2' },
    ],
    ['is full itself', [452, '4.3.1 insufficient system storage'], { kind: 'failed' }],
    ['wants the mail later', [451, '4.7.1 greylisted'], { kind: 'failed' }],
  ] as const)('that %s is told apart from one that accepts', async (_what, response, expected) => {
    const server = await startServer();
    const send = createMailer(optionsFor(server.url), 'Gate');
    server.behavior.recipient = () => response;
    expect(await send(MAIL)).toMatchObject(expected);
    server.behavior.recipient = () => null;
    expect(await send(MAIL)).toMatchObject({ kind: 'delivered' });
  });

  it('that rejects the content has rejected the mail, and one that cannot store it has failed', async () => {
    const server = await startServer();
    const send = createMailer(optionsFor(server.url), 'Gate');
    server.behavior.data = () => [554, '5.7.1 spam'];
    expect(await send(MAIL)).toMatchObject({ kind: 'rejected', reason: 'status 554 5.7.1' });
    server.behavior.data = () => [452, '4.3.1 full'];
    expect(await send(MAIL)).toMatchObject({ kind: 'failed', reason: expect.stringContaining('452') });
    expect(server.mails).toEqual([]);
  });

  it('that is away, or hangs up, has failed', async () => {
    const server = await startServer();
    await server.close();
    const send = createMailer(optionsFor(server.url), 'Gate');
    expect(await send(MAIL)).toMatchObject({
      kind: 'failed',
      reason: expect.stringContaining('ECONNREFUSED'),
    });
    const rude = createServer((socket) => void socket.end('421 go away\r\n')).listen(0, '127.0.0.1');
    onTestFinished(() => void rude.close());
    await new Promise((resolve) => rude.once('listening', resolve));
    const { port } = rude.address() as { port: number };
    expect(await createMailer(optionsFor(`smtp://127.0.0.1:${port}`), 'Gate')(MAIL)).toMatchObject({
      kind: 'failed',
    });
  });

  it('on localhost is the one on this computer, whatever name servers say', async () => {
    const own = await startServer({ login: ['gate', 'secret'] });
    const port = Number(new URL(own.url).port);
    const other = await startServer({ host: ELSEWHERE, port, login: ['gate', 'secret'] });
    const lookUp = vi.spyOn(dns.Resolver.prototype, 'resolve4');
    onTestFinished(() => lookUp.mockRestore());
    lookUp.mockImplementation((_name: string, ...rest: unknown[]) =>
      (rest.at(-1) as (error: null, addresses: readonly string[]) => void)(null, [ELSEWHERE]),
    );
    const send = createMailer(
      optionsFor(`smtp://localhost:${port}`, { user: 'gate', password: 'secret' }),
      'Gate',
    );
    expect(await send(MAIL)).toMatchObject({ kind: 'delivered' });
    expect([own.mails.length, other.mails.length]).toEqual([1, 0]);
  });

  it('on localhost has to prove that name by TLS', async () => {
    const named = await createCertificate('localhost', 'dns');
    const server = await startServer({ secure: true, ...named });
    const url = server.url.replace('smtp://127.0.0.1', 'smtps://localhost');
    expect(await createMailer(optionsFor(url), 'Gate')(MAIL)).toMatchObject({ kind: 'failed' });
    trust(named.cert);
    expect(await createMailer(optionsFor(url), 'Gate')(MAIL)).toMatchObject({ kind: 'delivered' });
  });

  it('that says nothing has failed after ten seconds', async () => {
    const connected = Promise.withResolvers<void>();
    const silent = createServer(() => connected.resolve()).listen(0, '127.0.0.1');
    onTestFinished(() => void silent.close());
    await new Promise((resolve) => silent.once('listening', resolve));
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const { port } = silent.address() as { port: number };
    const attempt = createMailer(optionsFor(`smtp://127.0.0.1:${port}`), 'Gate')(MAIL);
    await connected.promise;
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await attempt).toMatchObject({ kind: 'failed', reason: expect.stringMatching(/greeting/i) });
  });

  it('authenticates the sender, and a wrong password is a failure', async () => {
    const server = await startServer({ login: ['gate', 'secret'] });
    const withPassword = (password: string) =>
      createMailer(optionsFor(server.url, { user: 'gate', password }), 'Gate')(MAIL);
    expect(await withPassword('wrong')).toMatchObject({
      kind: 'failed',
      reason: expect.stringContaining('535'),
    });
    expect(await withPassword('secret')).toMatchObject({ kind: 'delivered' });
    expect(server.mails).toMatchObject([{ user: 'gate' }]);
  });

  it('elsewhere gets no mail and no password without TLS, even if it hides STARTTLS', async () => {
    const server = await startServer({
      host: ELSEWHERE,
      login: ['gate', 'secret'],
    });
    const send = createMailer(optionsFor(server.url, { user: 'gate', password: 'secret' }), 'Gate');
    expect(await send(MAIL)).toMatchObject({ kind: 'failed', reason: expect.stringMatching(/STARTTLS/i) });
    expect(server.mails).toEqual([]);
  });

  it('elsewhere gets a mail over STARTTLS or TLS if its certificate is trusted, and otherwise none', async () => {
    const certificate = await createCertificate(ELSEWHERE);
    const upgrading = await startServer({ host: ELSEWHERE, ...certificate });
    const secure = await startServer({ host: ELSEWHERE, secure: true, ...certificate });
    const urls = [upgrading.url, secure.url.replace('smtp:', 'smtps:')];
    const sendAll = () => Promise.all(urls.map((url) => createMailer(optionsFor(url), 'Gate')(MAIL)));
    for (const attempt of await sendAll())
      expect(attempt).toMatchObject({ kind: 'failed', reason: expect.stringMatching(/certificate/i) });
    expect([...upgrading.mails, ...secure.mails]).toEqual([]);
    trust(certificate.cert);
    expect((await sendAll()).map(({ kind }) => kind)).toEqual(['delivered', 'delivered']);
    expect([...upgrading.mails, ...secure.mails].map(({ isEncrypted }) => isEncrypted)).toEqual([true, true]);
  });

  it('with a trusted certificate for another host gets none', async () => {
    const certificate = await createCertificate('127.0.0.3');
    const server = await startServer({ host: ELSEWHERE, ...certificate });
    trust(certificate.cert);
    expect(await createMailer(optionsFor(server.url), 'Gate')(MAIL)).toMatchObject({ kind: 'failed' });
    expect(server.mails).toEqual([]);
  });
});
