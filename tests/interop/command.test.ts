/** The command with real clients: start time, warnings and memory. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it } from 'vitest';
import { owner, startWithOwnLimits } from '../support/portcullis.ts';
import { createUser } from '../support/user.ts';
import { createMemoryProvider } from './memory-provider.ts';
import { sdks } from './sdks.ts';

const MEBIBYTE = 1024 * 1024;

it('the command starts quickly without warnings, and stays small under load', async () => {
  const server = await startWithOwnLimits();
  try {
    // CPU time rather than wall time: the machine may be busy.
    expect(await server.processorTime()).toBeLessThan(2000);
    for (let round = 0; round < 5; round += 1) {
      for (const sdk of sdks) {
        const provider = createMemoryProvider({ redirectUrl: 'http://127.0.0.1:33418/callback' });
        await sdk.signIn(server.resource, provider, createUser(owner));
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

it('the command ends with its `npm start`, although the shell between them passes no signal on', async () => {
  const npm = spawn('npm', ['start'], {
    env: { ...process.env, PORTCULLIS_PORT: '0', PORTCULLIS_DATABASE: ':memory:' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const url = await new Promise<string>((resolve) => {
    let output = '';
    npm.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      const ready = /^ready (\S+)\n/m.exec(output)?.[1];
      if (ready !== undefined) resolve(ready);
    });
  });
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  npm.kill('SIGTERM');
  await once(npm, 'exit');
  await expect.poll(() => fetch(`${url}/healthz`).catch(({ message }) => message)).toBe('fetch failed');
});
