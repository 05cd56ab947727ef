/** The prompts in a terminal: lists by arrow keys, fields, and cancellation. */
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { GivenAnswers } from '../src/command-line.ts';
import { promptForAnswers } from '../src/prompts.ts';

const DOWN = '\u001B[B';
const ENTER = '\r';
const CONTROL_C = '\u0003';

/** Types the keys of each answer when its prompt is shown. */
async function answerInTerminal(given: GivenAnswers, answers: ReadonlyArray<readonly [string, string[]]>) {
  const terminal = { isTTY: true, columns: 100, rows: 40, setRawMode: () => {} };
  const input = Object.assign(new PassThrough(), terminal) as unknown as NodeJS.ReadStream & PassThrough;
  const output = Object.assign(new PassThrough({ encoding: 'utf8' }), terminal);
  let shown = '';
  output.on('data', (text: string) => {
    shown += stripVTControlCharacters(text);
  });
  const done = promptForAnswers(given, { input, output: output as unknown as NodeJS.WriteStream });
  done.catch(() => {});
  for (const [prompt, keys] of answers) {
    while (!shown.includes(prompt)) await once(output, 'data');
    shown = '';
    for (const key of keys) input.write(key);
  }
  return done;
}

describe('in a terminal', () => {
  it('three questions suffice for a server on this computer', async () => {
    const answers = await answerInTerminal({}, [
      ['1. What do you want to protect?', ['http://127.0.0.1:9/mcp', ENTER]],
      ['2. How do users sign in?', [ENTER]],
      ['3. Where does it run?', [ENTER]],
      ['On which port?', [ENTER]],
    ]);
    expect(answers).toEqual({
      backend: { url: 'http://127.0.0.1:9/mcp' },
      signIn: { kind: 'accounts' },
      location: { kind: 'local' },
      port: 8484,
    });
  });

  it('a list offers the ways to sign in and the places to run, and the port is a field with its default', async () => {
    const given = { protect: 'node server.js', 'client-id': 'a', 'client-secret-file': 'b' };
    const answers = await answerInTerminal(given, [
      ['How do users sign in?', [DOWN, ENTER]],
      ['Who may sign in?', ['example.org', ENTER]],
      ['Where does it run?', [ENTER]],
      ['On which port?', [ENTER]],
    ]);
    expect(answers).toMatchObject({
      signIn: { kind: 'provider', provider: 'google', allowedUsers: { emailDomains: ['example.org'] } },
      location: { kind: 'local' },
      port: 8484,
    });
  });

  it('what no list has is a field, asked for again after a mistake', async () => {
    const given = { protect: 'node server.js', 'sign-in': 'accounts' };
    const answers = await answerInTerminal(given, [
      ['Where does it run?', [DOWN, ENTER]],
      ['The public URL', ['http://auth.example.com', ENTER]],
      ['Where does it run?', [DOWN, ENTER]],
      ['The public URL', ['https://auth.example.com', ENTER]],
    ]);
    expect(answers.location).toEqual({ kind: 'public', url: 'https://auth.example.com' });
  });

  it('Ctrl+C ends it, and names the flag that answers beforehand', async () => {
    const given = { protect: 'node server.js' };
    await expect(answerInTerminal(given, [['How do users sign in?', [CONTROL_C]]])).rejects.toThrow(
      'cancelled: nothing was written; --sign-in answers it beforehand',
    );
  });
});
