/** Short documents are read without a scanner, and the same. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readCanonical } from '../../src/messages/json-projection.ts';
import { JsonScanner } from '../../src/messages/json-scanner.ts';
import { messageShape } from '../../src/messages/read-message.ts';

function scan(bytes: Buffer) {
  const scanner = new JsonScanner(messageShape, { depth: 256, text: 1000, elements: 1000 });
  scanner.push(bytes);
  return scanner.end();
}

const name = fc.oneof(
  fc.constantFrom(
    'jsonrpc',
    'id',
    'method',
    'params',
    'result',
    'error',
    'Method',
    'para\u{17f}',
    '__proto__',
  ),
  fc.constantFrom('name', 'arguments', '_meta', 'taskId', 'ref', 'uri', 'requestState', '1', '0', 'toJSON'),
  fc.string({ unit: 'grapheme', maxLength: 3 }),
);
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(null, true, 0, -1.5, 1e21, '2.0', 'tools/call', '\ud800', '\u2028', '\u0007"\\'),
    fc.string({ unit: 'grapheme' }),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(name, tie('value'), { maxKeys: 5 }),
  ),
}));

describe('a short document', () => {
  it('is read as a scanner reads it, if it is written as JSON.stringify writes it', () => {
    let read = 0;
    fc.assert(
      fc.property(fc.dictionary(name, value, { maxKeys: 6 }), (document) => {
        const bytes = Buffer.from(JSON.stringify(document));
        const found = readCanonical(bytes, messageShape);
        if (found === null) return;
        read += 1;
        expect(found).toEqual(scan(bytes));
      }),
      { numRuns: 2000 },
    );
    expect(read).toBeGreaterThan(1000);
  });

  it('is left to the scanner when a byte of it is written otherwise', () => {
    const written =
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"b":[1]}}}';
    expect(readCanonical(Buffer.from(written), messageShape)).toEqual(scan(Buffer.from(written)));
    fc.assert(
      fc.property(
        fc.nat(written.length),
        fc.constantFrom(' ', '\n', ',', '"x":1,', '\\u0061', '\ufeff'),
        (at, more) => {
          const bytes = Buffer.from(written.slice(0, at) + more + written.slice(at));
          const found = readCanonical(bytes, messageShape);
          if (found !== null) expect(found).toEqual(scan(bytes));
        },
      ),
    );
  });

  it.each([
    ['a member twice', '{"id":1,"id":2}'],
    ['a member twice, further in', '{"params":{"name":"a","name":"b"}}'],
    ['an escaped name', '{"\\u0069d":1}'],
    ['a number in another form', '{"id":1.0}'],
    ['a byte that is not UTF-8', Buffer.from([...Buffer.from('{"id":"'), 0xff, ...Buffer.from('"}')])],
    ['more levels than scanners allow', `{"id":${'['.repeat(256)}${']'.repeat(256)}}`],
    ['a list that has to be read', '{"params":{"notifications":{"resourceSubscriptions":["a"]}}}'],
    ['something behind it', '{"id":1}{}'],
    ['no end', '{"id":1'],
    ['no object', '[{"id":1}]'],
  ])('is left to the scanner when it has %s', (_what, document) => {
    expect(readCanonical(Buffer.from(document), messageShape)).toBeNull();
  });
});
