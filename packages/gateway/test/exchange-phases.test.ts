/** The phases of an exchange: every phase with every event, as a table. */
import { describe, expect, it } from 'vitest';
import type { Address } from '../src/addresses/addresses.ts';
import { noCredential } from '../src/credentials/credential-source.ts';
import {
  type ExchangeEvent,
  type ExchangePhase,
  nextExchange,
  type SentMessage,
} from '../src/http/exchange-phases.ts';
import { GatewayError } from '../src/messages/gateway-error.ts';

const message: SentMessage = {
  ...{ name: 'Files', headers: [], body: null, mayTranslate: false },
};
const credential = { ...noCredential, key: 'alice' };
const address = { tag: 'one' } as Address;
const error = new Error('down');
const headOf = (status: number, headers = {}) => ({ status, headers });
const json = { 'content-type': 'application/json' };
const stream = { 'content-type': 'text/event-stream' };

type Sending = ExchangePhase & { readonly kind: 'sending' };
const sending: Sending = { kind: 'sending', message, credential, isRenewed: false, tried: [] };

const phases: Readonly<Record<ExchangePhase['kind'], ExchangePhase>> = {
  sending,
  negotiating: { kind: 'negotiating', message, head: headOf(403) },
  buffering: { kind: 'buffering', head: headOf(200, json) },
  streaming: { kind: 'streaming' },
  over: { kind: 'over' },
};

const events: Readonly<Record<string, ExchangeEvent>> = {
  head: { kind: 'head', head: headOf(200, json) },
  renewed: { kind: 'renewed', credential: noCredential },
  final: { kind: 'final' },
  bytes: { kind: 'bytes', bytes: Buffer.from('{}'), length: 2 },
  ended: { kind: 'ended' },
  'unreached, with another address': { kind: 'unreached', address, hasAlternative: true, error },
  'unreached, with no other': { kind: 'unreached', address, hasAlternative: false, error },
  failed: { kind: 'failed', error, outcome: 'timeout' },
  closed: { kind: 'closed' },
};

/** `phase: effects`; `-`: the event is ignored. */
const outcomeOf = (before: ExchangePhase, event: ExchangeEvent): string => {
  const [after, ...effects] = nextExchange(before, event);
  if (after === before && effects.length === 0) return '-';
  const done = effects.map((effect) => (effect.do === 'end' ? `end ${effect.end.kind}` : effect.do));
  return `${after.kind}: ${done.join(', ')}`;
};

const FAILED = 'over: drop, end failed';
const CANCELLED = 'over: drop, end cancelled';

/**
 * A row for each phase. Why events are ignored: nothing is reported of an attempt that was dropped (`head`, `unreached` and `failed` come
 * from the current one); an outcome (`renewed`, `final`) may arrive after the client has gone or the connection failed; an edited body may
 * report (`bytes`, `ended`) after a later part of the response failed. What cannot happen, such as the end of a response without a head, is
 * ignored as well: it must not end another request's process.
 */
const table: Readonly<Record<ExchangePhase['kind'], Readonly<Record<string, string>>>> = {
  sending: {
    head: 'buffering: pipe',
    renewed: '-',
    final: '-',
    bytes: '-',
    ended: '-',
    'unreached, with another address': 'sending: send',
    'unreached, with no other': FAILED,
    failed: FAILED,
    closed: CANCELLED,
  },
  negotiating: {
    head: '-',
    renewed: 'sending: drop, send',
    final: 'streaming: writeHead, pipe, resume',
    bytes: '-',
    ended: '-',
    'unreached, with another address': FAILED,
    'unreached, with no other': FAILED,
    failed: FAILED,
    closed: CANCELLED,
  },
  buffering: {
    head: '-',
    renewed: '-',
    final: '-',
    bytes: 'streaming: writeHead, write',
    ended: '-',
    'unreached, with another address': FAILED,
    'unreached, with no other': FAILED,
    failed: FAILED,
    closed: CANCELLED,
  },
  streaming: {
    head: '-',
    renewed: '-',
    final: '-',
    bytes: 'streaming: write',
    ended: 'over: end answered',
    'unreached, with another address': FAILED,
    'unreached, with no other': FAILED,
    failed: FAILED,
    closed: CANCELLED,
  },
  over: Object.fromEntries(Object.keys(events).map((name) => [name, '-'])),
};

describe('an exchange with a backend', () => {
  it.each(
    Object.entries(table).flatMap(([phase, row]) =>
      Object.keys(events).map((event) => [phase, event, row[event]] as const),
    ),
  )('that is %s, when it is %s: %s', (phase, event, expected) => {
    const [before, happened] = [phases[phase as ExchangePhase['kind']], events[event]];
    if (happened === undefined) throw new TypeError(`no event ${event}`);
    expect(outcomeOf(before, happened)).toBe(expected);
  });

  it.each([
    ['200 as a document', 200, json, {}, 'buffering: pipe'],
    ['202 without content', 202, { 'content-length': '0' }, {}, 'streaming: writeHead, pipe'],
    ['500 as a document', 500, json, {}, 'streaming: writeHead, pipe'],
    ['200 as a stream', 200, stream, {}, 'streaming: writeHead, pipe'],
    ['304', 304, {}, {}, 'streaming: writeHead, pipe'],
    ['a redirect', 307, {}, {}, FAILED],
    ['a challenge of a proxy', 407, {}, {}, FAILED],
    ['a compressed response', 200, { 'content-encoding': 'gzip' }, {}, FAILED],
    ['404', 404, json, {}, 'streaming: writeHead, pipe'],
    ['404 of an unknown transport', 404, json, { mayTranslate: true }, 'over: drop, end refused'],
  ])('responds to %s', (_what, status, headers, own, expected) => {
    const before: ExchangePhase = { ...sending, message: { ...message, ...own } };
    expect(outcomeOf(before, { kind: 'head', head: headOf(status, headers) })).toBe(expected);
  });

  it.each([
    ['a credential', sending, 401, 'negotiating: negotiate'],
    ['a credential', sending, 403, 'negotiating: negotiate'],
    ['a renewed credential', { ...sending, isRenewed: true }, 401, FAILED],
    ['a renewed credential', { ...sending, isRenewed: true }, 403, 'streaming: writeHead, pipe'],
    ['no credential', { ...sending, credential: noCredential }, 401, FAILED],
    ['no credential', { ...sending, credential: noCredential }, 403, 'streaming: writeHead, pipe'],
  ] as const)('treats a rejection of %s (%#: %s, %i) once', (_what, before, status, expected) => {
    expect(outcomeOf(before, { kind: 'head', head: headOf(status, json) })).toBe(expected);
  });

  it('does not forward the challenge of a backend to the gateway', () => {
    const before: ExchangePhase = { kind: 'negotiating', message, head: headOf(401) };
    const [, , end] = nextExchange(before, { kind: 'final' });
    expect(end).toMatchObject({ do: 'end', end: { kind: 'failed', error: { status: 502 } } });
    expect(end?.do === 'end' && end.end.kind === 'failed' && end.end.error).toBeInstanceOf(GatewayError);
  });

  it('remembers which addresses could not be reached, until the credential is renewed', () => {
    const event: ExchangeEvent = { kind: 'unreached', address, hasAlternative: true, error };
    expect(nextExchange(sending, event)[0]).toEqual({ ...sending, tried: [address] });
    const [renewed] = nextExchange(phases.negotiating, { kind: 'renewed', credential });
    expect(renewed).toEqual({ ...sending, isRenewed: true });
  });
});
