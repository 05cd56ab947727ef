/** How the program is spoken to: https by given files, renewed while it runs; what comes in the clear is refused. */
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request as sendPlain } from 'node:http';
import { request as sendSecure } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { respond, respondJson } from '@portcullis/http';
import { type ListeningServer, type ListenOptions, listen } from '@portcullis/http/node';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { SettingsError } from '../src/errors.ts';
import { readCertificate, secure, watchCertificate } from '../src/server/transport.ts';
import { resolveSettings } from '../src/settings/resolve.ts';

const fixture = (name: string) => fileURLToPath(new URL(`../../http/test/fixtures/${name}`, import.meta.url));
const certificate = {
  cert: readFileSync(fixture('certificate.pem'), 'utf8'),
  key: readFileSync(fixture('key.pem'), 'utf8'),
};

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'portcullis-tls-'));
  copyFileSync(fixture('certificate.pem'), join(folder, 'cert.pem'));
  copyFileSync(fixture('key.pem'), join(folder, 'key.pem'));
  writeFileSync(join(folder, 'broken.pem'), 'no certificate');
});
afterAll(() => rmSync(folder, { recursive: true }));

const servers: ListeningServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close(0)));
});

async function serve(
  options: Partial<ListenOptions>,
  issuer = 'https://as.example',
): Promise<ListeningServer> {
  const handler = secure(async () => respondJson({ secret: 'page' }), issuer);
  const server = await listen(handler, { port: 0, host: '127.0.0.1', ...options });
  servers.push(server);
  return server;
}

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: string;
}

function ask(url: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
  const send = url.startsWith('https:') ? sendSecure : sendPlain;
  return new Promise((resolve, reject) => {
    send(url, { headers, rejectUnauthorized: false, agent: false }, (response) => {
      let body = '';
      response.on('data', (chunk) => {
        body += String(chunk);
      });
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body }),
      );
    })
      .on('error', reject)
      .end();
  });
}

describe('a connection', () => {
  const proxied = { trustedProxies: ['127.0.0.1'] };
  it.each([
    { is: 'TLS', options: { certificate }, headers: {}, status: 200 },
    { is: 'on this computer', options: {}, headers: {}, status: 200 },
    { is: 'on this computer, whatever a header claims', options: {}, headers: { 'x-forwarded-proto': 'http' }, status: 200 },
    { is: 'https up to our proxy', options: proxied, headers: { 'x-forwarded-for': '192.0.2.1', 'x-forwarded-proto': 'https' }, status: 200 },
    { is: 'up to our proxy, which says nothing', options: proxied, headers: { 'x-forwarded-for': '192.0.2.1' }, status: 200 },
    { is: 'in the clear up to our proxy', options: proxied, headers: { 'x-forwarded-for': '192.0.2.1', 'x-forwarded-proto': 'http' }, status: 403 },
    { is: 'in the clear up to our proxy, in the standard header', options: proxied, headers: { forwarded: 'for=192.0.2.1;proto=http' }, status: 403 },
  ])('[ALL-HTTP-62] a connection $is gets status $status', async ({ options, headers, status }) => {
    const { port } = await serve(options);
    const answer = await ask(`${'certificate' in options ? 'https' : 'http'}://127.0.0.1:${port}/token`, headers);
    expect(answer.status).toBe(status);
    expect(answer.body.includes('page')).toBe(status === 200);
  }); // biome-ignore format: a table

  it('[AS-HTTPS-1] a remote cleartext connection is rejected, except for health checks', async () => {
    const handler = secure(async () => respond(200, {}, 'page'), 'https://as.example');
    const connection = { address: '192.0.2.1', security: 'cleartext' } as const;
    const refused = await handler(new Request('http://as.example/authorize'), connection);
    expect(refused).toMatchObject({ status: 403, body: expect.stringContaining('"invalid_request"') });
    for (const path of ['/healthz', '/readyz']) {
      expect(await handler(new Request(`http://as.example${path}`), connection)).toMatchObject({
        status: 200,
      });
    }
  });

  it.each([
    ['https://as.example', 'max-age=15768000'],
    ['http://localhost:8484', undefined],
  ])('every response has security headers, for %s', async (issuer, hsts) => {
    const { port } = await serve({}, issuer);
    const { headers } = await ask(`http://127.0.0.1:${port}/`);
    expect(headers['x-content-type-options']).toBe('nosniff');
    expect(headers['referrer-policy']).toBe('no-referrer');
    expect(headers['strict-transport-security']).toBe(hsts);
  });
});

describe('the certificate', () => {
  const settings = (tlsCert: string, tlsKey: string) =>
    resolveSettings({ flags: { tlsCert, tlsKey }, environment: {}, folder });

  it('the certificate is read from the configured files', async () => {
    expect(await readCertificate(await settings('cert.pem', 'key.pem'), folder)).toEqual(certificate);
    expect(
      await readCertificate(await resolveSettings({ flags: {}, environment: {}, folder }), folder),
    ).toBeNull();
  });

  it.each([
    ['nowhere.pem', 'key.pem', /^PORTCULLIS_TLS_CERT \(--tls-cert\) is nowhere\.pem, which cannot be read/],
    ['cert.pem', 'nowhere.pem', /^PORTCULLIS_TLS_KEY \(--tls-key\) is nowhere\.pem, which cannot be read/],
    [
      'broken.pem',
      'key.pem',
      /^PORTCULLIS_TLS_CERT \(--tls-cert\) and PORTCULLIS_TLS_KEY \(--tls-key\) do not form a certificate/,
    ],
    ['cert.pem', 'broken.pem', /do not form a certificate/],
  ])('an invalid certificate is rejected: %s and %s', async (cert, key, says) => {
    const error = await readCertificate(await settings(cert, key), folder).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(SettingsError);
    expect((error as SettingsError).issues).toEqual([expect.stringMatching(says)]);
  });

  it('the certificate is renewed while serving, and a broken one changes nothing', async () => {
    copyFileSync(join(folder, 'cert.pem'), join(folder, 'live.pem'));
    const server = await serve({ certificate });
    const events: string[] = [];
    const stop = watchCertificate(
      await settings('live.pem', 'key.pem'),
      folder,
      certificate,
      server,
      ({ type }) => events.push(type),
      20,
    );
    writeFileSync(join(folder, 'live.pem'), 'broken');
    await expect.poll(() => events).toContain('certificate.renewal_failed');
    expect((await ask(`https://127.0.0.1:${server.port}/`)).status).toBe(200);
    copyFileSync(join(folder, 'cert.pem'), join(folder, 'live.pem'));
    await expect.poll(() => events).toContain('certificate.renewed');
    expect((await ask(`https://127.0.0.1:${server.port}/`)).status).toBe(200);
    // Each was told once, however often the files were looked at.
    expect(events).toEqual(['certificate.renewal_failed', 'certificate.renewed']);
    stop();
  });
});
