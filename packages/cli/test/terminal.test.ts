/** What a terminal gets, and what a pipe gets: the same streams with and without a screen. */
import { PassThrough } from 'node:stream';
import { encode } from 'uqr';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { cleanJson, cleanLine, cleanText } from '../src/terminal/clean.ts';
import { columns } from '../src/terminal/columns.ts';
import { drawQrCode } from '../src/terminal/qr-code.ts';
import { createTerminal } from '../src/terminal/terminal.ts';

function open(isTTY: boolean, environment: Record<string, string> = {}, columns = 80) {
  const stream = () => Object.assign(new PassThrough({ encoding: 'utf8' }), { isTTY, columns });
  const [input, output, errors] = [stream(), stream(), stream()];
  const terminal = createTerminal({ input, output, errors }, environment);
  return {
    terminal,
    input,
    said: () => String(errors.read() ?? ''),
    printed: () => String(output.read() ?? ''),
  };
}

describe('colours', () => {
  it.each([
    [true, {}, '\x1b[1mx\x1b[22m'],
    [false, {}, 'x'],
    [true, { NO_COLOR: '1' }, 'x'],
    [true, { TERM: 'dumb' }, 'x'],
  ])('colours with a terminal: %s and %j: %j', (isTTY, environment, expected) => {
    expect(open(isTTY, environment).terminal.styles.bold('x')).toBe(expected);
  });
});

describe('QR codes', () => {
  const address = 'https://auth.example.com/device?user_code=WDJB-MJHT';
  const { data, size } = encode(address, { border: 2 });

  it('a QR code has two modules in each character, white on black in any colour scheme', async () => {
    const lines = (await drawQrCode(address, size))?.split('\n') ?? [];
    const [before, after] = ['\x1b[97;40m', '\x1b[0m'];
    const rows = lines.flatMap((line) => {
      expect(line.startsWith(before) && line.endsWith(after)).toBe(true);
      const cells = [...line.slice(before.length, -after.length)];
      return [cells.map((cell) => ' ▄'.includes(cell)), cells.map((cell) => ' ▀'.includes(cell))];
    });
    expect(rows.slice(0, size)).toEqual(data);
  });

  it('an address that is too long, or a terminal that is too narrow, shows none', async () => {
    expect(await drawQrCode(address, size - 1)).toBeNull();
    expect(await drawQrCode(`https://example.com/${'x'.repeat(1_300)}`, 500)).toBeNull();
  });

  it.each([
    [true, {}, 80],
    [false, {}, 0],
    [true, { NO_COLOR: '1' }, 0],
    [true, { TERM: 'dumb' }, 0],
  ])('pictures with a terminal: %s and %j: %i columns', (isTTY, environment, expected) => {
    expect(open(isTTY, environment).terminal.pictureColumns).toBe(expected);
  });
});

describe('progress', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('progress is silent for a second, then counts on one line, which disappears', () => {
    const { terminal, said, printed } = open(true);
    terminal.during('Asking');
    vi.advanceTimersByTime(999);
    expect(said()).toBe('');
    vi.advanceTimersByTime(1001);
    expect(said()).toBe('\r\x1b[2KAsking … 1 s\r\x1b[2KAsking … 2 s');
    terminal.print('done\n');
    expect([said(), printed()]).toEqual(['\r\x1b[2K', 'done\n']);
    terminal.close();
  });

  it('progress without a terminal is one line on standard error', () => {
    const { terminal, said, printed } = open(false);
    terminal.during('Asking');
    vi.advanceTimersByTime(60_000);
    terminal.during('Waiting');
    vi.advanceTimersByTime(500);
    terminal.during(null);
    vi.advanceTimersByTime(5000);
    expect([said(), printed()]).toEqual(['Asking …\n', '']);
  });

  it.each([true, false])(
    'progress says after 15 seconds why it may take long; with a terminal: %s',
    (isTTY) => {
      const { terminal, said } = open(isTTY);
      terminal.during(['Waiting', 'Waiting for a start']);
      vi.advanceTimersByTime(14_999);
      const early = said();
      vi.advanceTimersByTime(60_001);
      const late = said();
      terminal.during(null);
      expect(early).toContain('Waiting …');
      expect(early).not.toContain('start');
      if (isTTY) expect(late).toContain('Waiting for a start … 15 s');
      else expect(late).toBe('Waiting for a start …\n');
    },
  );
});

describe('questions', () => {
  it('questions are printed on standard error and answered line by line', async () => {
    const { terminal, input, said, printed } = open(false);
    input.write('first\nsecond\ny\nno\n');
    expect(await terminal.ask('One? ')).toBe('first');
    expect(await terminal.ask('Two? ')).toBe('second');
    expect(await terminal.confirm('Really?')).toBe(true);
    expect(await terminal.confirm('Sure?')).toBe(false);
    expect([said(), printed()]).toEqual(['One? Two? Really? [y/N] Sure? [y/N] ', '']);
    terminal.close();
  });

  it('questions fail at the end of input', async () => {
    const { terminal, input } = open(false);
    const asked = terminal.ask('Who? ');
    input.end();
    await expect(asked).rejects.toMatchObject({ code: 'cancelled' });
    await expect(terminal.ask('Who? ')).rejects.toMatchObject({ code: 'cancelled' });
  });

  it('T146 questions for secrets do not echo the input', async () => {
    const { terminal, input, said } = open(true);
    const asked = terminal.askSecret('Secret: ');
    input.write('hunter2\r');
    expect(await asked).toBe('hunter2');
    expect(said()).toBe('Secret: \n');
    const next = terminal.ask('Name: ');
    input.write('ada\r');
    expect(await next).toBe('ada');
    expect(said()).toContain('ada');
    terminal.close();
  });
});

describe('T147 untrusted text', () => {
  it.each([
    ['\x1b[31mred\x1b[0m', 'red'],
    ['\x1b]0;title\x07text', 'text'],
    ['\x1b]52;c;ZXZpbA==\x07text', 'text'],
    ['\x1b]8;;https://evil.example\x1b\\link\x1b]8;;\x1b\\', 'link'],
    ['over\rwritten', 'over\nwritten'],
    ['\u009b31mred', 'red'],
    ['a\u202eb\u2066c\u200bd', 'abcd'],
    ['line\n\tindented', 'line\n\tindented'],
    ['bell\x07back\x08space\x00', 'bellbackspace'],
  ])('untrusted text %j is shown as %j', (text, shown) => {
    expect(cleanText(text)).toBe(shown);
  });

  it('untrusted text is joined to one line where required', () => {
    expect(cleanLine(' a\r\nb\u2028c\t ')).toBe('a b c');
  });

  it('untrusted text is escaped in JSON without loss', () => {
    const value = { text: '\x1b[31m\u202e\u009b\u2028 ☕' };
    expect(cleanJson(value)).not.toMatch(/[^\n\x20-\x7e☕]/);
    expect(JSON.parse(cleanJson(value))).toEqual(value);
  });

  it('JSON is shown whole however deep it is nested', () => {
    const levels = 20_000;
    const inner = '{"a":[1,"\\u202e",null,{}],"b":[],"c":true}';
    const text = `${'[{"x":0,"deep":'.repeat(levels)}${inner}${'},2]'.repeat(levels)}`;
    expect(cleanJson(JSON.parse(text))).toBe(text);
  });
});

it('a table has as many rows as there are', () => {
  const rows = Array.from({ length: 200_000 }, () => ['a', 'b']);
  expect(columns([...rows, ['longest', 'b']])).toMatch(/^a {8}b\n/);
});
