/** `@modelcontextprotocol/sdk` 1.x with its own OAuth code. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createPerson } from '../support/person.ts';
import { owner, type Portcullis, startPortcullis } from '../support/portcullis.ts';
import { createMemoryProvider } from './memory-provider.ts';
import { sdkOne } from './sdks.ts';

const redirectUrl = 'http://localhost:6274/oauth/callback';

let server: Portcullis;

beforeAll(async () => {
  server = await startPortcullis();
});

afterAll(async () => {
  expect(await server.stop()).toBe(0);
});

it('[AS-GRANT-2] calls every tool as the person who signed in', async () => {
  const provider = createMemoryProvider({ redirectUrl });
  await sdkOne.signIn(server.resource, provider, createPerson(owner));
  const session = await sdkOne.connect(server.resource, provider);
  expect(await session.call('whoami')).toEqual({
    issuer: server.url,
    subject: expect.stringMatching(/^user_/),
    clientId: provider.clientInformation()?.client_id,
    scopes: ['notes:read', 'notes:write'],
  });
  const first = await session.call('add_note', { text: 'One' });
  const second = await session.call('add_note', { text: 'Two' });
  expect(await session.call('list_notes')).toEqual({ notes: [first, second] });
  await session.call('delete_note', { id: (first as { id: number }).id });
  expect(await session.call('list_notes')).toEqual({ notes: [second] });
  await expect(session.call('delete_note', first as { id: number })).rejects.toThrow('no note');
  await session.close();
});
