/** A gateway behind a TLS proxy under a path prefix, which the proxy keeps or removes. */
import { afterEach, describe, expect, it } from 'vitest';
import { answerAll, startBackend } from './support/backend.ts';
import { startGateway } from './support/gateway.ts';

const open: { close(): Promise<void> }[] = [];

async function started<A extends { close(): Promise<void> }>(starting: Promise<A>): Promise<A> {
  const one = await starting;
  open.push(one);
  return one;
}

afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

describe('a server under a path prefix', () => {
  async function behindProxy(strippedPrefix: string | null) {
    const backend = await started(startBackend(answerAll));
    const servers = [{ path: '/tools/files', backend: { url: backend.url } }];
    const gateway = await started(
      startGateway(servers, { publicUrl: 'https://mcp.example', strippedPrefix }),
    );
    return { backend, gateway };
  }

  it('is reached by a proxy that keeps the prefix, and named by its public URL', async () => {
    const { gateway } = await behindProxy(null);
    expect((await gateway.send('alice', { path: '/tools/files' })).status).toBe(200);
    const challenge = (await gateway.send(null, { path: '/tools/files' })).headers.get('www-authenticate');
    expect(challenge).toContain('https://mcp.example/.well-known/oauth-protected-resource/tools/files');
    expect(gateway.gateway.belongs('/files')).toBe(false);
  });

  it('is reached by a proxy that removes the prefix, under the same public URL', async () => {
    const { backend, gateway } = await behindProxy('/tools');
    expect(gateway.gateway.belongs('/files')).toBe(true);
    expect(gateway.gateway.belongs('/token')).toBe(false);
    expect((await gateway.send('alice', { path: '/files' })).status).toBe(200);
    expect((await gateway.send('alice', { path: '/tools/files' })).status).toBe(200);
    const challenge = (await gateway.send(null, { path: '/files' })).headers.get('www-authenticate');
    expect(challenge).toContain('https://mcp.example/.well-known/oauth-protected-resource/tools/files');
    const metadata = await fetch(`${gateway.origin}/.well-known/oauth-protected-resource/tools/files`);
    expect(await metadata.json()).toMatchObject({ resource: 'https://mcp.example/tools/files' });
    expect(backend.received).toHaveLength(2);
  });

  it('of another name is not reached by way of the prefix', async () => {
    const { backend, gateway } = await behindProxy('/tools');
    expect((await gateway.send('alice', { path: '/files/../secret' })).status).not.toBe(200);
    expect((await gateway.send('alice', { path: '/other' })).status).not.toBe(200);
    expect(backend.received).toEqual([]);
  });
});
