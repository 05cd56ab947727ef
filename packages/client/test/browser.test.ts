/** The system's browser: the program that is started, its arguments, and the URLs that are refused. */
import { describe, expect, it } from 'vitest';
import { openerCommand } from '../src/node/browser.ts';
import { createNodeClient, createSystemBrowser } from '../src/node.ts';
import { createWorld } from './support/world.ts';

const platforms = ['linux', 'darwin', 'win32', 'freebsd'] as const;

const payloads = [
  'https://a.example/$(touch%20x)',
  'https://a.example/?a=1&calc&b=2',
  'https://a.example/;reboot',
  "https://a.example/'x'",
  'https://a.example/!history!',
  'https://a.example/?redirect_uri=http%3A%2F%2F127.0.0.1%3A1%2Fcallback&state=a%26b',
];

describe.each(platforms)('on %s', (platform) => {
  it('[C-URL-42] T144 starts one program without a shell, with the exact URL as its last argument', async () => {
    for (const url of payloads) {
      const started: unknown[] = [];
      const browser = createSystemBrowser({
        start: async (program, args, { shell }) => void started.push([program, args.at(-1), shell]),
        platform,
      });
      await browser.open(url);
      expect(started).toEqual([[expect.stringMatching(/^(xdg-open|open|.*\\rundll32\.exe)$/), url, false]]);
    }
  });

  it.each([
    'javascript:alert(1)',
    'data:text/html,x',
    'file:///etc/passwd',
    'vbscript:x',
    'foo:bar',
    'http://a.example/',
    'a:$(calc)',
    '-a https://a.example',
    '--version',
    'https://a.example/ x',
    'https://a.example/\nx',
    'https://u@a.example/',
    '%USERPROFILE%',
    'https://a.example/"&calc&"',
    '\\\\host\\share',
    'https:\\\\a.example',
    '',
    'https://a.example/$(touch x)',
    'https://a.example/`id`',
    'https://a.example/|calc',
    'https://a.example/?x=%PATH%',
  ])('[C-URL-40 C-URL-41 C-URL-43] T110 T144 refuses to open %j and starts nothing', async (url) => {
    const started: string[] = [];
    const browser = createSystemBrowser({ start: async (program) => void started.push(program), platform });
    await expect(browser.open(url)).rejects.toMatchObject({ code: 'authorization_url_refused' });
    expect(started).toEqual([]);
  });
});

it('T144 starts rundll32 by its absolute path, because Windows looks for a name in the working directory first', () => {
  expect(openerCommand('https://a.example/x', 'win32')).toEqual({
    program: expect.stringMatching(/^[A-Z]:\\.*\\System32\\rundll32\.exe$/),
    arguments: ['url.dll,FileProtocolHandler', 'https://a.example/x'],
  });
});

it('[C-REDIR-22] opens the system browser for a server on a loopback address too', () => {
  expect(openerCommand('http://127.0.0.1:1/authorize', 'linux')).toEqual({
    program: 'xdg-open',
    arguments: ['http://127.0.0.1:1/authorize'],
  });
});

it('T119 starts the browser with the address that works once, which other users of the computer may read', async () => {
  const world = await createWorld();
  const started: string[] = [];
  const pages: Promise<number>[] = [];
  const browser = createSystemBrowser({
    async start(_program, [address = '']) {
      started.push(address);
      const authorization = (await fetch(address, { redirect: 'manual' })).headers.get('location') ?? '';
      const { headers } = await fetch(authorization, { redirect: 'manual' });
      started.push(String((await fetch(address, { redirect: 'manual' })).status));
      pages.push(fetch(headers.get('location') ?? '').then(({ status }) => status));
    },
    platform: 'linux',
  });
  const client = createNodeClient({ serverUrl: world.serverUrl, browser });
  expect((await client.fetch(world.serverUrl)).status).toBe(200);
  expect(started).toEqual([expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/[\w-]{12}$/), '404']);
  expect(await Promise.all(pages)).toEqual([200]);
});

it('names the options to configure when no browser can be started, without the expired URL', async () => {
  const browser = createSystemBrowser({
    start: () => Promise.reject(new Error('ENOENT')),
    platform: 'linux',
  });
  await expect(browser.open('https://a.example/x')).rejects.toMatchObject({
    code: 'sign_in_needed',
    message: expect.not.stringContaining('https://a.example/x'),
  });
});

it('reports an opener that is missing from the PATH of the given environment as an error', async () => {
  const browser = createSystemBrowser({ environment: { PATH: '' }, platform: 'linux' });
  await expect(browser.open('https://a.example/x')).rejects.toMatchObject({ code: 'sign_in_needed' });
});
