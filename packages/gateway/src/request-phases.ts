/**
 * The phases of one authorized request, as a pure function: phase and event in, phase and effects out.
 *
 *            bodiless (GET, DELETE)
 *   created ─────────────────────────────▶ checking ────── allowed ──────▶ sending ── ended ──▶ over
 *      │                                    ▲   ▲ │ a user has to act        │ ▲
 *      │ body                         whole │   │ ▼                          │ │
 *      └────▶ receiving ────────────────────┘   │ waiting ◀──────────────────┘ │
 *              │     ▲                          └──── due                      │ rechecked
 *        known │     │ needs the whole body                                    │
 *              ▼     │               allowed                   arrived         │
 *             previewing ────────────────────▶ uploading ──────────────▶ rechecking
 *
 *   each ── failed ──▶ over (refused);  uploading, rechecking ── ended ──▶ over;  previewing, checking, waiting ── gone ──▶ over (cancelled)
 *
 * A long body is previewed as soon as its operation is known, and then streamed to the backend; all other bodies are buffered.
 * An event that a phase does not name is ignored: it reports what was under way when the phase ended, such as the end of an exchange
 * whose upload was refused.
 */
import type { CallOutcome } from './audit/call-record.ts';
import type { BackendCredential } from './credentials/credential-source.ts';
import type { ExchangeSummary } from './http/exchange.ts';
import type { BodyEvent, RequestBody } from './http/request-body.ts';
import type { StreamedBody, UploadEvent } from './http/streamed-body.ts';
import type { Arriving, KnownBody, Previewed, Streamed, Whole } from './known-body.ts';
import { MessageError } from './messages/message-error.ts';
import type { ScannedBody } from './messages/scanned-message.ts';
import { UserActionRequired } from './messages/user-action.ts';
import type { UserActionRetry } from './user-action-retries.ts';

export type RequestPhase =
  | { readonly kind: 'created'; readonly body: KnownBody & { readonly kind: 'none' } }
  | {
      readonly kind: 'receiving';
      readonly body: Arriving;
      /** Progress: `short`; `long`: memory is reserved; `buffered`: it is not sent before it is complete. */
      readonly intake: 'short' | 'long' | 'buffered';
    }
  /** A paused long body is checked as far as it has been scanned. */
  | { readonly kind: 'previewing'; readonly body: Previewed; readonly hasMemory: boolean }
  | { readonly kind: 'checking'; readonly body: KnownBody & { readonly kind: 'none' | 'whole' } }
  /** A user connects an account at the backend, or approves the call, which has not been executed. */
  | { readonly kind: 'waiting'; readonly body: Whole }
  /** The whole request is at the backend. */
  | { readonly kind: 'sending'; readonly body: KnownBody & { readonly kind: 'none' | 'whole' | 'streamed' } }
  /** The body is streamed to the backend while it arrives. */
  | { readonly kind: 'uploading'; readonly body: Streamed; readonly credential: BackendCredential }
  /** The body has arrived; its last bytes are buffered until all of it was checked. */
  | { readonly kind: 'rechecking'; readonly body: Streamed }
  | { readonly kind: 'over' };

export type RequestEvent =
  | { readonly kind: 'bodiless' }
  | { readonly kind: 'body'; readonly body: RequestBody }
  /** Progress of a body that is received. */
  | BodyEvent
  /** A slot was acquired to stream a long body. */
  | { readonly kind: 'known'; readonly scanned: ScannedBody }
  /** No slot is free to stream a long body. */
  | { readonly kind: 'busy' }
  /** The rules allow a whole body, and its sealed identifiers were opened. */
  | { readonly kind: 'opened'; readonly sent: Buffer; readonly retry: UserActionRetry | null }
  | { readonly kind: 'allowed'; readonly credential: BackendCredential; readonly upload: StreamedBody | null }
  /** Progress of a body that is streamed. */
  | UploadEvent
  | { readonly kind: 'rechecked' }
  /** The next lookup of the connected account or of the approval is due. */
  | { readonly kind: 'due' }
  | { readonly kind: 'ended'; readonly end: ExchangeSummary; readonly mayWait: boolean }
  /**
   * @param mayWait whether the client is still connected and may keep waiting; absent if its own body failed
   * @param isGone whether the client has disappeared: no more of its body arrives
   */
  | {
      readonly kind: 'failed';
      readonly error: unknown;
      readonly mayWait?: boolean;
      readonly isGone?: boolean;
    }
  /** The client disappeared. */
  | { readonly kind: 'gone' };

export type RequestEffect =
  | { readonly do: 'receive'; readonly body: RequestBody }
  /** Acquires a slot to stream a long body whose operation is known. */
  | { readonly do: 'takeUpload'; readonly scanned: ScannedBody }
  /** Reserves memory for a whole body. */
  | { readonly do: 'takeMemory'; readonly body: RequestBody }
  | { readonly do: 'preview'; readonly body: Previewed }
  | { readonly do: 'checkRules'; readonly body: Whole }
  /** Finds the credential, and decides about the messages. */
  | { readonly do: 'authorize'; readonly body: KnownBody & { readonly kind: 'none' | 'whole' } }
  | { readonly do: 'forward'; readonly body: KnownBody; readonly credential: BackendCredential }
  | { readonly do: 'recheck'; readonly body: Streamed; readonly credential: BackendCredential }
  | { readonly do: 'finishUpload'; readonly body: Streamed }
  | { readonly do: 'wait' }
  | { readonly do: 'resumeBody'; readonly body: RequestBody }
  | { readonly do: 'stopBody'; readonly body: RequestBody }
  /** Stops receiving the body. */
  | { readonly do: 'stopUpload'; readonly body: Streamed }
  /** Aborts the upload: the request at the backend remains incomplete. */
  | { readonly do: 'cancelUpload'; readonly body: Streamed }
  /** Responds with an error and records it. */
  | { readonly do: 'refuse'; readonly body: KnownBody; readonly error: unknown }
  /** Records what was forwarded, after an error response if that failed. */
  | { readonly do: 'finish'; readonly body: KnownBody; readonly end: ExchangeSummary }
  | { readonly do: 'record'; readonly body: KnownBody; readonly outcome: CallOutcome };

type Transition = readonly [RequestPhase, ...RequestEffect[]];
type PhaseOf<Kind extends RequestPhase['kind']> = RequestPhase & { readonly kind: Kind };

const OVER: RequestPhase = { kind: 'over' };
const NO_BODY = { kind: 'none' } as const;
export const CREATED: RequestPhase = { kind: 'created', body: NO_BODY };

export function nextRequest(phase: RequestPhase, event: RequestEvent): Transition {
  if (phase.kind === 'over') return [phase];
  if (event.kind === 'failed') return fail(phase, event);
  if (event.kind === 'ended') return end(phase, event.end, event.mayWait);
  switch (phase.kind) {
    case 'created':
      if (event.kind === 'bodiless')
        return [
          { kind: 'checking', body: NO_BODY },
          { do: 'authorize', body: NO_BODY },
        ];
      if (event.kind !== 'body') return [phase];
      return [
        { kind: 'receiving', body: { kind: 'arriving', body: event.body }, intake: 'short' },
        { do: 'receive', body: event.body },
      ];
    case 'receiving':
      return receive(phase, event);
    case 'previewing': {
      if (event.kind === 'gone') return cancel(phase.body);
      if (event.kind !== 'allowed' || event.upload === null) return [phase];
      const { credential, upload } = event;
      const body: Streamed = { ...phase.body, kind: 'streamed', upload };
      return [
        { kind: 'uploading', body, credential },
        { do: 'forward', body, credential },
      ];
    }
    case 'checking':
      return check(phase, event);
    case 'waiting':
      if (event.kind === 'gone') return cancel(phase.body);
      if (event.kind !== 'due') return [phase];
      return [
        { ...phase, kind: 'checking' },
        { do: 'authorize', body: phase.body },
      ];
    case 'uploading': {
      if (event.kind !== 'arrived') return [phase];
      const body: Streamed = { ...phase.body, scanned: event.scanned };
      return [
        { kind: 'rechecking', body },
        { do: 'recheck', body, credential: phase.credential },
      ];
    }
    case 'rechecking':
      if (event.kind !== 'rechecked') return [phase];
      return [
        { ...phase, kind: 'sending' },
        { do: 'finishUpload', body: phase.body },
      ];
    case 'sending':
      return [phase];
  }
}

function receive(phase: PhaseOf<'receiving'>, event: RequestEvent): Transition {
  const { intake, body: arriving } = phase;
  const { body } = arriving;
  switch (event.kind) {
    case 'long':
      if (intake === 'buffered') return [phase];
      if (event.scanned !== null) return [phase, { do: 'takeUpload', scanned: event.scanned }];
      if (intake === 'long') return [phase];
      return [
        { ...phase, intake: 'long' },
        { do: 'takeMemory', body },
      ];
    case 'busy':
      if (intake === 'short')
        return [
          { ...phase, intake: 'buffered' },
          { do: 'takeMemory', body },
        ];
      return [intake === 'long' ? { ...phase, intake: 'buffered' } : phase];
    case 'known': {
      if (intake !== 'short' && intake !== 'long') return [phase];
      const previewed: Previewed = { kind: 'previewed', body, scanned: event.scanned };
      const hasMemory = intake === 'long';
      return [
        { kind: 'previewing', body: previewed, hasMemory },
        { do: 'preview', body: previewed },
      ];
    }
    case 'whole': {
      const { bytes, scanned } = event;
      const whole: Whole = { kind: 'whole', scanned, bytes, sent: bytes, retry: null };
      return [
        { kind: 'checking', body: whole },
        { do: 'checkRules', body: whole },
      ];
    }
    default:
      return [phase];
  }
}

function check(phase: PhaseOf<'checking'>, event: RequestEvent): Transition {
  const { body } = phase;
  if (event.kind === 'gone') return cancel(body);
  if (event.kind === 'opened' && body.kind === 'whole') {
    const { sent, retry } = event;
    const opened: Whole = { ...body, sent, retry };
    return [
      { ...phase, body: opened },
      { do: 'authorize', body: opened },
    ];
  }
  if (event.kind !== 'allowed') return [phase];
  return [
    { kind: 'sending', body },
    { do: 'forward', body, credential: event.credential },
  ];
}

function fail(phase: RequestPhase, event: RequestEvent & { readonly kind: 'failed' }): Transition {
  if (phase.kind === 'over') return [phase];
  const { body } = phase;
  const { error } = event;
  const mayWait = 'mayWait' in event && event.mayWait === true;
  const isGone = 'isGone' in event && event.isGone === true;
  if (phase.kind === 'previewing' && !isGone && needsWholeBody(error, phase.body.scanned))
    return buffer(phase);
  if (body.kind === 'whole' && mayWaitForUser(body, error, mayWait))
    return [{ kind: 'waiting', body }, { do: 'wait' }];
  const refused: RequestEffect = { do: 'refuse', body, error };
  if (body.kind === 'streamed') return [OVER, refused, { do: 'cancelUpload', body }];
  if (body.kind === 'none' || body.kind === 'whole') return [OVER, refused];
  return [OVER, refused, { do: 'stopBody', body: body.body }];
}

/** What prevents streaming is decided with the whole body: the error needs its id, or a user has to act first. */
function needsWholeBody(error: unknown, { messages }: ScannedBody): boolean {
  if (error instanceof UserActionRequired) return true;
  return error instanceof MessageError && messages.every(({ id }) => id === null);
}

function buffer({ body: { body }, hasMemory }: PhaseOf<'previewing'>): Transition {
  const arriving: Arriving = { kind: 'arriving', body };
  const resume: RequestEffect = { do: 'resumeBody', body };
  const phase: RequestPhase = { kind: 'receiving', body: arriving, intake: 'buffered' };
  return hasMemory ? [phase, resume] : [phase, { do: 'takeMemory', body }, resume];
}

function end(phase: RequestPhase, summary: ExchangeSummary, mayWait: boolean): Transition {
  if (phase.kind !== 'sending' && phase.kind !== 'uploading' && phase.kind !== 'rechecking') return [phase];
  const { body } = phase;
  if (body.kind === 'whole' && summary.kind === 'failed' && mayWaitForUser(body, summary.error, mayWait))
    return [{ kind: 'waiting', body }, { do: 'wait' }];
  const finished: RequestEffect = { do: 'finish', body, end: summary };
  return body.kind === 'streamed' ? [OVER, { do: 'stopUpload', body }, finished] : [OVER, finished];
}

/** Whether a user who knows about it may act soon. A client that sends its request again has shown the page. */
function mayWaitForUser({ retry }: Whole, error: unknown, mayWait: boolean): boolean {
  if (!(error instanceof UserActionRequired) || !mayWait) return false;
  return retry === null ? error.isUnderWay : !retry.isDeclined;
}

function cancel(body: KnownBody): Transition {
  return [OVER, { do: 'record', body, outcome: 'cancelled' }];
}
