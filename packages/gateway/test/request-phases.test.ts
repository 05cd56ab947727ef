/** The phases of a request: every phase with every event, as a table. */
import { describe, expect, it } from 'vitest';
import { ConnectionRequired, noCredential } from '../src/credentials/credential-source.ts';
import type { ExchangeSummary } from '../src/http/exchange.ts';
import type { RequestBody } from '../src/http/request-body.ts';
import type { StreamedBody } from '../src/http/streamed-body.ts';
import type { Streamed, Whole } from '../src/known-body.ts';
import { MessageError } from '../src/messages/message-error.ts';
import type { ScannedBody } from '../src/messages/scanned-message.ts';
import { nextRequest, type RequestEvent, type RequestPhase } from '../src/request-phases.ts';

const body = {} as RequestBody;
const upload = {} as StreamedBody;
const bytes = Buffer.from('{}');
const scanned: ScannedBody = { isBatch: false, messages: [], length: 2, values: 1 };
const credential = noCredential;
const retry = { isDeclined: false, body: bytes, state: '{}' };
const whole: Whole = { kind: 'whole', scanned, bytes, sent: bytes, retry };
const streamed: Streamed = { kind: 'streamed', body, scanned, upload };
const missing = new ConnectionRequired('https://gateway.example/connect', 'Files');
const took = { backendMs: 1, responseBytes: 1 };
const failure: ExchangeSummary = { ...took, kind: 'failed', error: missing, outcome: 'connection_required' };

const phases: Readonly<Record<RequestPhase['kind'], RequestPhase>> = {
  created: { kind: 'created', body: { kind: 'none' } },
  receiving: { kind: 'receiving', body: { kind: 'arriving', body }, intake: 'short' },
  previewing: { kind: 'previewing', body: { kind: 'previewed', body, scanned }, hasMemory: false },
  checking: { kind: 'checking', body: whole },
  waiting: { kind: 'waiting', body: whole },
  sending: { kind: 'sending', body: whole },
  uploading: { kind: 'uploading', body: streamed, credential },
  rechecking: { kind: 'rechecking', body: streamed },
  over: { kind: 'over' },
};

const events: Readonly<
  Record<RequestEvent['kind'] | 'long, known' | 'account missing' | 'ended, account missing', RequestEvent>
> = {
  bodiless: { kind: 'bodiless' },
  body: { kind: 'body', body },
  long: { kind: 'long', scanned: null },
  'long, known': { kind: 'long', scanned },
  busy: { kind: 'busy' },
  known: { kind: 'known', scanned },
  whole: { kind: 'whole', bytes, scanned },
  opened: { kind: 'opened', sent: bytes, retry },
  allowed: { kind: 'allowed', credential, upload },
  arrived: { kind: 'arrived', scanned },
  rechecked: { kind: 'rechecked' },
  due: { kind: 'due' },
  ended: { kind: 'ended', end: { ...took, kind: 'answered' }, mayWait: true },
  'ended, account missing': { kind: 'ended', end: failure, mayWait: true },
  failed: { kind: 'failed', error: new Error('unknown'), mayWait: true },
  'account missing': { kind: 'failed', error: missing, mayWait: true },
  gone: { kind: 'gone' },
};

/** `phase: effects`; `-`: the event is ignored. */
function outcomeOf(before: RequestPhase, event: RequestEvent): string {
  const [after, ...effects] = nextRequest(before, event);
  if (after === before && effects.length === 0) return '-';
  return `${after.kind}: ${effects.map((effect) => effect.do).join(', ')}`;
}

const REFUSED = 'over: refuse';
const STOPPED = 'over: refuse, stopBody';
const UPLOAD_REFUSED = 'over: refuse, cancelUpload';
const UPLOAD_ENDED = 'over: stopUpload, finish';
const WAITS = 'waiting: wait';

/**
 * What changes each phase; every other event is ignored. What may arrive late: `ended` of an exchange after its upload was refused,
 * `allowed` and `rechecked` after the body failed or the exchange ended, `arrived` and `long` of a body that was stopped, `due` and `gone`
 * after an error. The rest cannot happen: a body is whole once, and only a long one is `known`, `arrived` or `rechecked`.
 */
const table: Readonly<Record<RequestPhase['kind'], Readonly<Record<string, string>>>> = {
  created: {
    bodiless: 'checking: authorize',
    body: 'receiving: receive',
    failed: REFUSED,
    'account missing': REFUSED,
  },
  receiving: {
    long: 'receiving: takeMemory',
    'long, known': 'receiving: takeUpload',
    busy: 'receiving: takeMemory',
    known: 'previewing: preview',
    whole: 'checking: checkRules',
    failed: STOPPED,
    'account missing': STOPPED,
  },
  previewing: {
    allowed: 'uploading: forward',
    failed: STOPPED,
    'account missing': 'receiving: takeMemory, resumeBody',
    gone: 'over: record',
  },
  checking: {
    opened: 'checking: authorize',
    allowed: 'sending: forward',
    failed: REFUSED,
    'account missing': WAITS,
    gone: 'over: record',
  },
  waiting: {
    due: 'checking: authorize',
    failed: REFUSED,
    'account missing': WAITS,
    gone: 'over: record',
  },
  sending: {
    ended: 'over: finish',
    'ended, account missing': WAITS,
    failed: REFUSED,
    'account missing': WAITS,
  },
  uploading: {
    arrived: 'rechecking: recheck',
    ended: UPLOAD_ENDED,
    'ended, account missing': UPLOAD_ENDED,
    failed: UPLOAD_REFUSED,
    'account missing': UPLOAD_REFUSED,
  },
  rechecking: {
    rechecked: 'sending: finishUpload',
    ended: UPLOAD_ENDED,
    'ended, account missing': UPLOAD_ENDED,
    failed: UPLOAD_REFUSED,
    'account missing': UPLOAD_REFUSED,
  },
  over: {},
};

const pairs = Object.entries(phases).flatMap(([kind, before]) =>
  Object.entries(events).map(([name, event]) => {
    const expected = table[kind as RequestPhase['kind']][name] ?? '-';
    return { kind, name, expected, before, event };
  }),
);

describe('a request', () => {
  it.each(pairs)('that is $kind, when it is $name: $expected', ({ before, event, expected }) => {
    expect(outcomeOf(before, event)).toBe(expected);
  });

  it.each([
    ['short', 'long', 'receiving: takeMemory', 'long'],
    ['short', 'long, known', 'receiving: takeUpload', 'short'],
    ['short', 'busy', 'receiving: takeMemory', 'buffered'],
    ['long', 'long', '-', 'long'],
    ['long', 'long, known', 'receiving: takeUpload', 'long'],
    ['long', 'busy', 'receiving: ', 'buffered'],
    ['buffered', 'long', '-', 'buffered'],
    ['buffered', 'long, known', '-', 'buffered'],
    ['buffered', 'known', '-', 'buffered'],
  ] as const)('takes the memory of a body once: %s, %s', (intake, event, expected, after) => {
    const before: RequestPhase = { kind: 'receiving', body: { kind: 'arriving', body }, intake };
    expect(outcomeOf(before, events[event])).toBe(expected);
    expect(nextRequest(before, events[event])[0]).toMatchObject({ intake: after });
  });

  it('buffers a body whose error needs its end, without taking its memory twice', () => {
    const refusal: RequestEvent = {
      kind: 'failed',
      error: new MessageError('unavailable', 'no'),
      mayWait: false,
    };
    const [buffered, ...effects] = nextRequest(
      { ...phases.previewing, hasMemory: true } as RequestPhase,
      refusal,
    );
    expect(effects).toEqual([{ do: 'resumeBody', body }]);
    expect(buffered).toMatchObject({ kind: 'receiving', intake: 'buffered' });
    expect(nextRequest(buffered, events.whole)[1]).toMatchObject({ do: 'checkRules' });
  });

  it('does not buffer a body whose client has disappeared', () => {
    const error = new MessageError('unavailable', 'no');
    const refusal = { kind: 'failed', error, mayWait: false, isGone: true } as const;
    expect(outcomeOf(phases.previewing, refusal)).toBe(STOPPED);
  });

  it.each([
    ['the first request', { ...whole, retry: null }, true],
    ['a retry that its user declined', { ...whole, retry: { ...retry, isDeclined: true } }, true],
    ['a retry whose client has waited long enough', whole, false],
  ])('does not wait for the account of %s', (_what, known, mayWait) => {
    const event: RequestEvent = { kind: 'failed', error: missing, mayWait };
    expect(outcomeOf({ kind: 'checking', body: known }, event)).toBe(REFUSED);
  });

  it('cancels an upload whose sealed identifiers do not open at its end', () => {
    expect(outcomeOf({ kind: 'sending', body: streamed }, events.failed)).toBe(UPLOAD_REFUSED);
    expect(outcomeOf({ kind: 'sending', body: streamed }, events.ended)).toBe(UPLOAD_ENDED);
  });
});
