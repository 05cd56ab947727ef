/** Egress of the server command: the proxy of the environment, and the check at startup. */
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { OutboundError } from '@portcullis/http/outbound';
import { describe, expect, it, onTestFinished } from 'vitest';
import { checkEgress, withEgressProxy } from '../src/server/egress.ts';
import { type ResolvedSettings, readSettings } from '../src/settings/resolve.ts';

const read = (flags = {}): Promise<ResolvedSettings> =>
  readSettings({ flags, environment: {}, folder: '/nowhere' });

describe('the proxy of the environment', () => {
  it.each([
    [{ HTTPS_PROXY: 'http://proxy.internal:3128' }, 'http://proxy.internal:3128', []],
    [{ https_proxy: 'proxy.internal:3128' }, 'http://proxy.internal:3128', []],
    [
      { HTTPS_PROXY: 'https://proxy.internal', NO_PROXY: 'idp.internal, .example ,' },
      'https://proxy.internal',
      ['idp.internal', '.example'],
    ],
    [{ HTTP_PROXY: 'http://proxy.internal', HTTPS_PROXY: '' }, undefined, undefined],
  ])('%o becomes a setting', async (environment, proxy, noProxy) => {
    const { settings, issues } = withEgressProxy(await read(), environment);
    expect([settings.outbound.proxy, settings.outbound.noProxy, issues]).toEqual([proxy, noProxy, []]);
  });

  it('a setting wins over the environment', async () => {
    const resolved = await read();
    const outbound = { proxy: 'http://mine.internal', noProxy: ['a.internal'] };
    const own = {
      ...resolved,
      settings: { ...resolved.settings, outbound: { ...resolved.settings.outbound, ...outbound } },
    };
    const environment = { HTTPS_PROXY: 'http://theirs.internal', NO_PROXY: 'b.internal' };
    expect(withEgressProxy(own, environment).settings.outbound).toMatchObject(outbound);
  });

  it('a proxy that is no URL is an issue', async () => {
    const { issues } = withEgressProxy(await read(), { HTTPS_PROXY: 'socks5://proxy.internal' });
    expect(issues).toEqual(['HTTPS_PROXY must be an http or https URL, such as http://proxy.internal:3128']);
  });
});

describe('the check of egress', () => {
  function setScene(failing: readonly string[]) {
    const asked: string[] = [];
    const fetch = async (input: unknown) => {
      const { hostname } = new URL(String(input));
      asked.push(hostname);
      if (failing.includes(hostname)) throw new OutboundError('egress', 'No way out.');
      return new Response(null, { status: 403 });
    };
    return { outbound: { fetch }, asked };
  }

  it('is passed when every host responds, whatever it says', async () => {
    const { outbound, asked } = setScene([]);
    expect(await checkEgress({ metadataDocuments: true, outbound })).toBeNull();
    expect(asked).toEqual(['claude.ai', 'vscode.dev']);
  });

  it('says which hosts are not reached, and what to do', async () => {
    const { outbound } = setScene(['claude.ai']);
    expect(await checkEgress({ metadataDocuments: true, outbound })).toBe(
      'this server does not reach claude.ai (no name server, route or proxy). Apps that identify themselves by a document there, as Claude Code and Visual Studio Code do, cannot sign in. Allow https to these hosts, name a proxy in HTTPS_PROXY or outbound.proxy, or pin the documents in metadataDocuments.pinned; see "Egress" in docs/operating.md',
    );
  });

  it.each([
    [false, []],
    [{ hosts: ['app.example', '*.vscode.dev'] }, ['app.example']],
    [{ refusedHosts: ['vscode.dev'], pinned: [{ client_id: 'https://claude.ai/x' }] }, []],
  ])('asks only hosts that matter with the setting %o', async (metadataDocuments, hosts) => {
    const { outbound, asked } = setScene(['app.example']);
    expect((await checkEgress({ metadataDocuments, outbound })) === null).toBe(hosts.length === 0);
    expect(asked).toEqual(hosts);
  });

  it('goes through the proxy, which resolves the names', async () => {
    const connected: (string | undefined)[] = [];
    const proxy = createServer().on('connect', ({ url }: IncomingMessage, socket: Socket) => {
      connected.push(url);
      socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void proxy.close());
    const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    expect(await checkEgress({ metadataDocuments: true, outbound: { proxy: url } })).toContain(
      'claude.ai (no connection), vscode.dev (no connection)',
    );
    expect(connected.toSorted()).toEqual(['claude.ai:443', 'vscode.dev:443']);
  });
});
