/**
 * The phases of one request to an HTTP backend, as a pure function: phase and event in, phase and effects out.
 *
 *          unreached, another address is up
 *                 ┌──────┐
 *                 ▼      │   head                              bytes              ended
 *   create ────▶ sending ┴───────────┬──▶ buffering (a document) ─────▶ streaming ──────▶ over (answered)
 *                 ▲  │ head 401, 403 │                                     ▲
 *         renewed │  ▼               └─────────────────────────────────────┤
 *               negotiating ──── final, 403 ───────────────────────────────┘
 *
 *   sending ──── head 400, 404, … of a backend whose transport is not known ──▶ over (refused)
 *   each    ──── failed, unreached, a head that is not passed on ─────────────▶ over (failed)
 *   each    ──── closed by the client ────────────────────────────────────────▶ over (cancelled)
 *
 * An event that a phase does not name is ignored: it reports what was under way when the phase ended, such as the decision about a
 * credential after the client has gone.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { Address } from '../addresses/addresses.ts';
import type { CallOutcome } from '../audit/call-record.ts';
import type { BackendCredential } from '../credentials/credential-source.ts';
import type { EditedEvent } from './edited-body.ts';
import { badGateway } from './error-response.ts';
import { contentTypeOf, isCompressed, isStreamType } from './headers.ts';
import type { StreamedBody } from './streamed-body.ts';

/** The request of all attempts. */
export interface SentMessage {
  /** Display name of the server. */
  readonly name: string;
  /** Headers as a flat list, without those of the credential. */
  readonly headers: readonly string[];
  readonly body: Buffer | StreamedBody | null;
  /** Whether a refusal may mean that the backend does not know this transport. */
  readonly mayTranslate: boolean;
}

export interface ResponseHead {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
}

export type ExchangePhase =
  /** Sent, or about to be, without a response yet. */
  | {
      readonly kind: 'sending';
      readonly message: SentMessage;
      readonly credential: BackendCredential;
      readonly isRenewed: boolean;
      /** Unreachable addresses. */
      readonly tried: readonly Address[];
    }
  /** The backend rejected the credential. The response is paused until the gateway has tried to obtain another. */
  | { readonly kind: 'negotiating'; readonly message: SentMessage; readonly head: ResponseHead }
  /** The response is read and edited. Its head is retained: an error may replace it. */
  | { readonly kind: 'buffering'; readonly head: ResponseHead }
  /** The client has the head; bytes pass. */
  | { readonly kind: 'streaming' }
  | { readonly kind: 'over' };

export type ExchangeEvent =
  | { readonly kind: 'head'; readonly head: ResponseHead }
  | { readonly kind: 'renewed'; readonly credential: BackendCredential }
  /** There is no other credential to try. */
  | { readonly kind: 'final' }
  /** The body of the response: bytes for the client, or their end. */
  | EditedEvent
  /** No connection was made, and nothing sent. */
  | {
      readonly kind: 'unreached';
      readonly address: Address;
      readonly hasAlternative: boolean;
      readonly error: unknown;
    }
  | { readonly kind: 'failed'; readonly error: unknown; readonly outcome: CallOutcome }
  /** The client disappeared. */
  | { readonly kind: 'closed' };

/** How an exchange ended. */
export type ExchangeEnd =
  | { readonly kind: 'answered' | 'cancelled' }
  /** The client gets the error, unless its response has begun. */
  | { readonly kind: 'failed'; readonly error: unknown; readonly outcome: CallOutcome }
  /** The backend refused the message itself, and the client got nothing. */
  | { readonly kind: 'refused' };

export type ExchangeEffect =
  /** Sends the message of the phase to an address. */
  | { readonly do: 'send' }
  /** Tries to obtain another credential. */
  | { readonly do: 'negotiate'; readonly credential: BackendCredential; readonly head: ResponseHead }
  /** @param length bytes of an edited document; `null`: not known, or not changed */
  | {
      readonly do: 'writeHead';
      readonly head: ResponseHead;
      readonly isEdited: boolean;
      readonly length: number | null;
    }
  | { readonly do: 'write'; readonly bytes: Buffer }
  /** Sets up the pipeline of bytes to the client. */
  | { readonly do: 'pipe'; readonly isStream: boolean; readonly isEdited: boolean }
  /** Reads on after a pause. */
  | { readonly do: 'resume' }
  /** Aborts the request at the backend and reads no more of its response. */
  | { readonly do: 'drop' }
  /** Releases the slot and reports the end. */
  | { readonly do: 'end'; readonly end: ExchangeEnd };

type Transition = readonly [ExchangePhase, ...ExchangeEffect[]];

const OVER: ExchangePhase = { kind: 'over' };
const STREAMING: ExchangePhase = { kind: 'streaming' };
const DROP: ExchangeEffect = { do: 'drop' };

/** Statuses by which a backend refuses a message that it does not know. */
const REFUSALS: ReadonlySet<number> = new Set([400, 404, 405, 406, 415, 422, 501]);

export function nextExchange(phase: ExchangePhase, event: ExchangeEvent): Transition {
  if (phase.kind === 'over') return [phase];
  switch (event.kind) {
    case 'closed':
      return [OVER, DROP, { do: 'end', end: { kind: 'cancelled' } }];
    case 'failed':
      return fail(event.error, event.outcome);
    case 'unreached':
      if (phase.kind !== 'sending' || !event.hasAlternative) return fail(event.error, 'unavailable');
      return [{ ...phase, tried: [...phase.tried, event.address] }, { do: 'send' }];
    case 'head':
      return phase.kind === 'sending' ? readHead(phase, event.head) : [phase];
    case 'renewed': {
      if (phase.kind !== 'negotiating') return [phase];
      const { message } = phase;
      const { credential } = event;
      return [{ kind: 'sending', message, credential, isRenewed: true, tried: [] }, DROP, { do: 'send' }];
    }
    case 'final': {
      if (phase.kind !== 'negotiating') return [phase];
      const [next, ...effects] = respond(phase.message, phase.head);
      return next === OVER ? [next, ...effects] : [next, ...effects, { do: 'resume' }];
    }
    case 'bytes': {
      const { bytes, length } = event;
      if (phase.kind === 'streaming') return [phase, { do: 'write', bytes }];
      if (phase.kind !== 'buffering') return [phase];
      return [
        STREAMING,
        { do: 'writeHead', head: phase.head, isEdited: true, length },
        { do: 'write', bytes },
      ];
    }
    case 'ended':
      return phase.kind === 'streaming' ? [OVER, { do: 'end', end: { kind: 'answered' } }] : [phase];
  }
}

function readHead(phase: ExchangePhase & { readonly kind: 'sending' }, head: ResponseHead): Transition {
  const { message, credential, isRenewed } = phase;
  const isRejected = head.status === 401 || head.status === 403;
  if (isRejected && credential.key !== '' && !isRenewed)
    return [
      { kind: 'negotiating', message, head },
      { do: 'negotiate', credential, head },
    ];
  if (message.mayTranslate && REFUSALS.has(head.status))
    return [OVER, DROP, { do: 'end', end: { kind: 'refused' } }];
  return respond(message, head);
}

/** Redirects are not followed; the backend's challenge to the gateway is not forwarded. */
function respond({ name }: SentMessage, head: ResponseHead): Transition {
  const { status, headers } = head;
  if (status === 401)
    return reject(`${name} does not accept the credentials of this gateway: ask its operator.`);
  if (status === 407)
    return reject(`${name} is behind a proxy that asks the gateway for credentials (407): ask its operator.`);
  if (status >= 300 && status < 400 && status !== 304)
    return reject(
      `${name} redirects (${status}), which is not followed: the operator has to configure its final URL.`,
    );
  if (isCompressed(headers))
    return reject(`${name} compresses its responses although it was not asked to: switch that off there.`);
  const isStream = isStreamType(contentTypeOf(headers));
  const isEdited = isStream || (status < 300 && headers['content-length'] !== '0');
  const pipe: ExchangeEffect = { do: 'pipe', isStream, isEdited };
  if (isEdited && !isStream) return [{ kind: 'buffering', head }, pipe];
  return [STREAMING, { do: 'writeHead', head, isEdited, length: null }, pipe];
}

function reject(reason: string): Transition {
  return fail(badGateway(reason), 'error');
}

function fail(error: unknown, outcome: CallOutcome): Transition {
  return [OVER, DROP, { do: 'end', end: { kind: 'failed', error, outcome } }];
}
