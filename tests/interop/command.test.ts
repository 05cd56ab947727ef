/** What a newcomer sees of the command itself, and what it costs them, with real clients at work. */
import { expect, it } from 'vitest';
import { createPerson } from '../support/person.ts';
import { owner, startPortcullis } from '../support/portcullis.ts';
import { createMemoryProvider } from './memory-provider.ts';
import { sdks } from './sdks.ts';

const MEBIBYTE = 1024 * 1024;

it('starts soon and without a warning, and stays small while clients come and go', async () => {
  const server = await startPortcullis();
  try {
    expect(server.startedIn).toBeLessThan(2000);
    for (let round = 0; round < 5; round += 1) {
      for (const sdk of sdks) {
        const provider = createMemoryProvider({ redirectUrl: 'http://127.0.0.1:33418/callback' });
        await sdk.signIn(server.resource, provider, createPerson(owner));
        const session = await sdk.connect(server.resource, provider);
        await session.call('add_note', { text: 'One more' });
        await session.close();
      }
    }
    expect(await server.residentMemory()).toBeLessThan(150 * MEBIBYTE);
    expect(server.errors()).toBe('');
    expect(server.output()).not.toMatch(/warn|experimental|deprecat/i);
  } finally {
    await server.stop();
  }
});
