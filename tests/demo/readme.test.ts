/** What the README shows: the official SDK with the client of Portcullis as its `fetch`. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { createNodeClient } from '@portcullis/client/node';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { owner } from '../support/portcullis.ts';
import { type PortcullisHere, startPortcullisHere } from '../support/portcullis-here.ts';
import { createUser } from '../support/user.ts';

let server: PortcullisHere;
beforeAll(async () => {
  server = await startPortcullisHere();
});
afterAll(() => server.stop());

it.each(['legacy', 'auto'] as const)(
  'the README’s client opens the browser when it is needed, and calls a tool (%s)',
  async (mode) => {
    const user = createUser(owner);
    const opened: string[] = [];
    const { fetch } = createNodeClient({
      serverUrl: server.resource,
      browser: {
        async open(url) {
          opened.push(url);
          void globalThis.fetch(await user.authorize(url));
        },
      },
    });
    const client = new Client({ name: 'my-program', version: '1.0.0' }, { versionNegotiation: { mode } });
    await client.connect(new StreamableHTTPClientTransport(new URL(server.resource), { fetch }));
    const { structuredContent } = await client.callTool({ name: 'whoami', arguments: {} });
    expect(structuredContent).toMatchObject({ issuer: server.url, scopes: ['notes:read', 'notes:write'] });
    expect(opened).toHaveLength(1);
    await client.close();
  },
);
