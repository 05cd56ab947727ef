/** The event log: one line per event, whatever its members contain. */
import { describe, expect, it } from 'vitest';
import { createLog, type LogEvent } from '../src/server/log.ts';

function lineOf(form: 'text' | 'json', event: LogEvent): string {
  const lines: string[] = [];
  createLog(form, (line) => lines.push(line))(event);
  expect(lines).toHaveLength(1);
  return lines[0] ?? '';
}

describe('as text', () => {
  it.each<[LogEvent, string]>([
    [{ type: 'key.created' }, 'key.created'],
    [
      { type: 'token.issued', clientId: 'client_x', scopes: ['notes:read', 'notes:write'] },
      'token.issued clientId=client_x scopes=notes:read,notes:write',
    ],
    [{ type: 'x', number: 401, nothing: null, absent: undefined }, 'x number=401 nothing=null'],
    [{ type: 'x', reason: 'two words' }, 'x reason="two words"'],
    [{ type: 'x', reason: 'a\nb\u001b[31m\u009b\u2028' }, 'x reason="a\\nb\\u001b[31m??"'],
    [{ type: 'x', reason: 'one\u202etwo\u2066 ü' }, 'x reason="one?two? ü"'],
    [{ type: 'x', empty: '' }, 'x empty=""'],
  ])('the text log writes %j on one line', (event, expected) => {
    expect(lineOf('text', event)).toMatch(/^\d\d:\d\d:\d\d /);
    expect(lineOf('text', event).slice(9)).toBe(expected);
  });
});

it('the JSON log adds the time', () => {
  const { at, ...event } = JSON.parse(lineOf('json', { type: 'x', scopes: ['a'] }));
  expect(Date.parse(at)).toBeGreaterThan(0);
  expect(event).toEqual({ type: 'x', scopes: ['a'] });
});

it('T147: the JSON log escapes control characters without losing any', () => {
  const reason = 'a\nb\u001b[31m\u009b31m\u007f\u2028\u202e ü';
  const line = lineOf('json', { type: 'x', reason });
  expect(line).not.toMatch(/[^\x20-\x7e\u00a0-\u200d\u2030-\uffff]/);
  expect(JSON.parse(line)).toMatchObject({ reason });
});

it.each(['text', 'json'] as const)('the %s log shows the stack of an error', (form) => {
  expect(lineOf(form, { type: 'request.failed', cause: new Error('the reason') })).toMatch(
    /Error: the reason.*log\.test\.ts/,
  );
});

it('the log `none` writes nothing', () => {
  const lines: string[] = [];
  createLog('none', (line) => lines.push(line))({ type: 'x' });
  expect(lines).toEqual([]);
});
