/** Handles one authorized request: the effects of `request-phases.ts`. */

import type { ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks';
import type { ApprovedUse } from '@portcullis/authorization-server';
import { allowLongBody, onShutdown } from '@portcullis/http/node';
import type { Span } from '@portcullis/protocol';
import type { ApprovalGate } from './approvals/approval-gate.ts';
import type { CallBody } from './approvals/bound-call.ts';
import type { CallAudit, CallDecision, CallOutcome } from './audit/call-record.ts';
import { sentIn } from './backends/clients/reply.ts';
import { STATELESS } from './backends/revisions.ts';
import { checkFields, checkHead, isListening, mayPassEarly } from './check-request.ts';
import type { BackendCredential, CredentialSource } from './credentials/credential-source.ts';
import { OutcomeUnknown, shuttingDown, unavailable } from './http/error-response.ts';
import type { ExchangeSummary } from './http/exchange.ts';
import { RequestBody } from './http/request-body.ts';
import { countCalls } from './http/slots.ts';
import { StreamedBody } from './http/streamed-body.ts';
import {
  isWholeCall,
  type KnownBody,
  type Previewed,
  type Streamed,
  scannedOf,
  type Whole,
} from './known-body.ts';
import { USER_ACTION_PACE, USER_ACTION_WAIT } from './limits.ts';
import { createBodyScanner } from './messages/body-scanner.ts';
import { type ExpectedResponses, expectedResponses, NO_RESPONSES } from './messages/check-responses.ts';
import type { MessageEdit } from './messages/message-edit.ts';
import { MessageError } from './messages/message-error.ts';
import { holdsHandles } from './messages/read-message.ts';
import type { ScannedBody } from './messages/scanned-message.ts';
import { UserActionRequired } from './messages/user-action.ts';
import type { UnapprovedCall } from './policy/check-messages.ts';
import { STREAM } from './policy/streams.ts';
import { type RecordedEnd, recordRequest, refusalOf, withoutResponse } from './record-request.ts';
import {
  CREATED,
  nextRequest,
  type RequestEffect,
  type RequestEvent,
  type RequestPhase,
} from './request-phases.ts';
import type { ServedControl, ServedServer } from './served-server.ts';
import type { GatewayRequest } from './servers/request.ts';
import { MessageHandles, operationOf } from './sessions/message-handles.ts';
import type { Sealer } from './sessions/sealer.ts';
import { startBackendSpan, startCallSpan, startRequestSpan } from './tracing/call-span.ts';
import { withTraceContext } from './tracing/trace-in-body.ts';
import type { UserActionRetries } from './user-action-retries.ts';

export interface HandlingServices {
  readonly credentials: CredentialSource;
  readonly sealer: Sealer;
  readonly audit: CallAudit;
  readonly retries: UserActionRetries;
  readonly approvals: ApprovalGate;
  /** Sends the response for an error. @returns what was decided, for the audit log */
  readonly respondError: (request: GatewayRequest, error: unknown, id: string | null) => CallDecision | null;
}

export class RequestHandling {
  readonly #services: HandlingServices;
  readonly #served: ServedServer;
  readonly #request: GatewayRequest;
  readonly #identifiers: MessageHandles;
  #phase: RequestPhase = CREATED;
  /** The approvals that the call has used; `null`: it needs none. */
  #approved: ApprovedUse | null = null;
  /** `null`: nothing is traced, or the call is not known yet. */
  #span: Span | null = null;
  /** Releases the memory of a long body. */
  #freeMemory: () => void = NOTHING;
  /** A body that began to be streamed is checked again when it is whole. */
  #isCounted = false;

  constructor(services: HandlingServices, served: ServedServer, request: GatewayRequest) {
    this.#services = services;
    this.#served = served;
    this.#request = request;
    this.#identifiers = new MessageHandles(services.sealer, request.owner);
  }

  /** Never throws. */
  start(): void {
    onShutdown(this.#request.outgoing, this.#onShutdown);
    this.#try(() => {
      const { incoming, server } = this.#request;
      checkHead(this.#served, this.#request);
      if (incoming.method !== 'POST') {
        this.#on({ kind: 'bodiless' });
        return;
      }
      const body = new RequestBody(incoming, {
        limit: server.limits.body,
        scanner: createBodyScanner(),
        mayStream: (scanned) =>
          mayPassEarly(this.#request, scanned) && !this.#served.control.readsArguments(scanned),
        report: this.#on,
      });
      this.#on({ kind: 'body', body });
    });
  }

  readonly #on = (event: RequestEvent): void => {
    const transition = nextRequest(this.#phase, event);
    this.#phase = transition[0];
    // By index: destructuring would allocate an iterator and a copy for each event.
    for (let at = 1; at < transition.length; at += 1) this.#performTraced(transition[at] as RequestEffect);
  };

  #performTraced(effect: RequestEffect): void {
    if (this.#span === null && (effect.do === 'preview' || effect.do === 'checkRules'))
      this.#span = startCallSpan(this.#request, effect.body.scanned);
    else if (this.#span === null && effect.do === 'authorize' && effect.body.kind === 'none')
      this.#span = startRequestSpan(this.#request);
    if (this.#span === null) this.#perform(effect);
    else this.#span.run(() => this.#perform(effect));
  }

  #perform(effect: RequestEffect): void {
    switch (effect.do) {
      case 'receive':
        effect.body.receive();
        break;
      case 'takeUpload':
        this.#takeUpload(effect.scanned);
        break;
      case 'takeMemory':
        this.#try(() => this.#takeMemory(effect.body));
        break;
      case 'preview':
        this.#preview(effect.body).catch(this.#fail);
        break;
      case 'checkRules':
        this.#try(() => this.#checkWhole(effect.body));
        break;
      case 'authorize':
        this.#try(() => this.#authorize(effect.body));
        break;
      case 'forward':
        this.#try(() => this.#forward(effect.body, effect.credential));
        break;
      case 'recheck':
        this.#try(() => this.#recheck(effect.body, effect.credential));
        break;
      case 'finishUpload':
        this.#try(() => effect.body.upload.finish(effect.body.scanned));
        break;
      case 'wait':
        setTimeout(() => this.#reportDue(), USER_ACTION_PACE).unref();
        break;
      case 'refuse':
        this.#refuse(effect.body, effect.error);
        break;
      case 'finish':
        this.#finish(effect.body, effect.end);
        break;
      case 'record':
        this.#record(effect.body, withoutResponse('allowed', effect.outcome));
        break;
      default:
        performOnBody(effect, this.#phase);
    }
  }

  readonly #fail = (error: unknown): void => {
    const isGone = this.#request.outgoing.destroyed;
    this.#on({ kind: 'failed', error, mayWait: this.#mayWait(), isGone });
  };

  /** An event stream ends where its events are written. */
  readonly #onShutdown = (): void => {
    if (!this.#request.outgoing.headersSent)
      this.#on({ kind: 'failed', error: shuttingDown(), mayWait: false });
  };

  #try(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Continues synchronously when there is nothing to wait for. */
  #then<T>(value: T | Promise<T>, next: (value: T) => void): void {
    if (value instanceof Promise) value.then((one) => this.#try(() => next(one)), this.#fail);
    else next(value);
  }

  #mayWait(): boolean {
    const { outgoing, startedAt } = this.#request;
    return !outgoing.destroyed && !outgoing.headersSent && performance.now() - startedAt < USER_ACTION_WAIT;
  }

  #reportDue(): void {
    this.#on({ kind: this.#request.outgoing.destroyed ? 'gone' : 'due' });
  }

  #takeUpload(scanned: ScannedBody): void {
    const release = this.#served.path.takeUpload(this.#request);
    if (release !== null) this.#request.outgoing.once('close', release);
    this.#on(release === null ? { kind: 'busy' } : { kind: 'known', scanned });
  }

  /** Reserves memory for the whole body; for the maximum if its length is unknown. */
  #takeMemory({ declared }: RequestBody): void {
    const { owner, server, outgoing } = this.#request;
    this.#freeMemory = this.#served.slots.takeMemory(owner, declared ?? server.limits.body);
    outgoing.once('close', this.#freeMemory);
  }

  async #preview({ body, scanned }: Previewed): Promise<void> {
    const { principal, server, incoming, outgoing } = this.#request;
    body.pause();
    this.#check(scanned, false);
    const credential = await this.#services.credentials.for(principal, server);
    refuseUnapproved(
      await this.#served.control.decide(this.#request, { ...scanned, bytes: null }, credential),
    );
    if (outgoing.destroyed) {
      this.#on({ kind: 'gone' });
      return;
    }
    const upload = new StreamedBody({
      ...{ source: incoming, buffered: body.buffered, scanned },
      // The length of opened request states is not known in advance.
      declared: incoming.headers['mcp-protocol-version'] === STATELESS ? null : body.declared,
      identifiers: this.#identifiers,
      idle: server.limits.idle,
      report: this.#on,
    });
    body.divert(upload);
    this.#freeMemory();
    allowLongBody(incoming, outgoing);
    this.#on({ kind: 'allowed', credential, upload });
  }

  #checkWhole({ bytes, scanned }: Whole): void {
    this.#check(scanned);
    if (!holdsHandles(scanned)) {
      this.#on({ kind: 'opened', sent: bytes, retry: null });
      return;
    }
    const retry = this.#services.retries.readRetry(this.#request.owner, scanned, bytes);
    this.#on({ kind: 'opened', sent: retry?.body ?? this.#identifiers.open(bytes, scanned), retry });
  }

  /** @param isWhole whether nothing more of the body arrives */
  #check(scanned: ScannedBody, isWhole = true): void {
    checkFields(this.#served, this.#request, scanned, this.#identifiers, isWhole);
    this.#served.control.checkRules(this.#request, scanned);
    if (!this.#isCounted) countCalls(this.#served, this.#request.owner, scanned);
    this.#isCounted = true;
  }

  #authorize(body: KnownBody & { readonly kind: 'none' | 'whole' }): void {
    const { principal, server } = this.#request;
    this.#then(this.#services.credentials.for(principal, server), (credential) => {
      const allow = () => this.#on({ kind: 'allowed', credential, upload: null });
      const decided = body.kind === 'whole' ? { ...body.scanned, bytes: body.bytes } : STREAM;
      const isDecided = body.kind === 'whole' || isListening(this.#served, this.#request);
      const checked = isDecided ? this.#served.control.decide(this.#request, decided, credential) : null;
      this.#then(checked, (call) => {
        if (call === null || body.kind === 'none') allow();
        else this.#useApprovals(call, body).then((isUsed) => isUsed && this.#try(allow), this.#fail);
      });
    });
  }

  /** Uses the approvals of a call. Other calls may be faster, so that it has to be approved again. */
  async #useApprovals(call: UnapprovedCall, body: CallBody): Promise<boolean> {
    for (let attempt = 0; attempt < 2; attempt += 1) {
      const use = await this.#services.approvals.find(this.#request, call, body);
      if (this.#request.outgoing.destroyed) this.#on({ kind: 'gone' });
      // It was refused meanwhile, since this process shuts down.
      if (this.#phase.kind !== 'checking') return false;
      // Point of no return: no other call is allowed by these approvals, whatever becomes of this one.
      if (await use.consume()) {
        this.#approved = use;
        return true;
      }
    }
    throw unavailable('The approval was used by another call. Send the request again.', 1);
  }

  /** Checks everything once more, while the request at the backend is still incomplete. */
  #recheck({ scanned }: Streamed, credential: BackendCredential): void {
    this.#check(scanned);
    if (this.#served.control.readsArguments(scanned))
      throw unavailable('The rules have changed. Try again.', 1);
    const checked = this.#served.control.decide(this.#request, { ...scanned, bytes: null }, credential);
    this.#then(checked, (call) => {
      refuseUnapproved(call);
      this.#on({ kind: 'rechecked' });
    });
  }

  #forward(known: KnownBody, credential: BackendCredential): void {
    const scanned = scannedOf(known);
    const span = scanned === null ? null : startBackendSpan(this.#request, scanned);
    const body =
      known.kind === 'whole' ? tracedBody(known, span) : known.kind === 'streamed' ? known.upload : null;
    const [name, edit] = [this.#name(scanned), this.#editOf(scanned, credential)];
    const forwarding = { credential, body, scanned, name, edit, expected: this.#expected };
    const forward = () => this.#served.path.forward(this.#request, forwarding);
    this.#awaitEnd(span === null ? forward() : inBackendSpan(span, forward));
  }

  /** A separate function, whose closure does not capture what was forwarded: an open stream would retain it. */
  #awaitEnd(forwarded: Promise<ExchangeSummary>): void {
    forwarded.then((end) => this.#on({ kind: 'ended', end, mayWait: this.#mayWait() }), this.#fail);
  }

  /** More of the body may be known later. */
  readonly #expected = (): ExpectedResponses => {
    const scanned = 'body' in this.#phase ? scannedOf(this.#phase.body) : null;
    return scanned === null ? NO_RESPONSES : expectedResponses(scanned);
  };

  #name(scanned: ScannedBody | null): string | null {
    const name = this.#request.incoming.headers['mcp-name'];
    if (typeof name !== 'string') return null;
    return scanned === null ? name : this.#identifiers.openName(name, scanned);
  }

  #editOf(scanned: ScannedBody | null, credential: BackendCredential): MessageEdit {
    const operation = operationOf(scanned?.messages ?? []);
    return {
      mayReport: (message) => this.#currentControl.mayReport(message, this.#request),
      filter: (message) => this.#currentControl.editResponse(message, this.#request, credential),
      seal: (message) => this.#identifiers.seal(message, operation),
    };
  }

  /** A stream may be open while the rules change. */
  get #currentControl(): ServedControl {
    const { backend, control } = this.#served;
    return backend === null ? control : backend.control;
  }

  #refuse(known: KnownBody, error: unknown): void {
    const decision = this.#respondError(known, error);
    // Without a free slot, it was not sent.
    if (this.#request.outgoing.statusCode !== 429) this.#approved?.reportUnknownOutcome();
    this.#record(known, refusalOf(error, decision, this.#request.outgoing.statusCode));
  }

  #finish(known: KnownBody, end: ExchangeSummary): void {
    if (end.kind === 'failed') {
      const { error } = end;
      this.#respondError(
        known,
        error instanceof OutcomeUnknown && isWholeCall(known) ? error.ofCall() : error,
      );
    }
    const outcome = end.kind === 'failed' ? end.outcome : end.kind;
    if (this.#approved !== null && !isKnown(outcome, this.#request.outgoing))
      this.#approved.reportUnknownOutcome();
    const { backendMs, responseBytes } = end;
    this.#record(known, { decision: 'allowed', because: null, outcome, backendMs, responseBytes });
  }

  #respondError(known: KnownBody, error: unknown): CallDecision | null {
    const { owner } = this.#request;
    const isWaiting = error instanceof UserActionRequired && known.kind === 'whole';
    const response = isWaiting ? this.#services.retries.answer(error, owner, known) : error;
    const id = error instanceof MessageError ? error.id : (scannedOf(known)?.messages[0]?.id ?? null);
    return this.#services.respondError(this.#request, response, id);
  }

  #record(known: KnownBody, end: RecordedEnd): void {
    // What is refused before its body is read has no span yet.
    this.#span ??= startRequestSpan(this.#request);
    const { audit } = this.#services;
    recordRequest(audit, this.#request, known, {
      ...end,
      approvals: this.#approved?.ids ?? [],
      span: this.#span,
    });
  }
}

/** The trace context of the message is that of its exchange. */
function tracedBody({ bytes, sent, scanned }: Whole, span: Span | null): Buffer {
  return span === null ? sent : withTraceContext(sent, sent === bytes ? scanned : null, span.context);
}

async function inBackendSpan(span: Span, forward: () => Promise<ExchangeSummary>): Promise<ExchangeSummary> {
  try {
    const end = await span.run(forward);
    span.end(end.kind === 'answered' ? null : end.kind === 'failed' ? end.outcome : end.kind);
    return end;
  } catch (error) {
    span.end(error instanceof Error ? error.name : typeof error);
    throw error;
  }
}

/** The rules of a call that needs an approval have the whole body, unless they have changed since it began to arrive. */
function refuseUnapproved(call: UnapprovedCall | null): void {
  if (call !== null) throw unavailable('The rules have changed. Try again.', 1);
}

/** Whether the response of the backend says what it did. */
function isKnown(outcome: CallOutcome, outgoing: ServerResponse): boolean {
  return KNOWN_OUTCOMES.has(outcome) && outgoing.writableEnded && !sentIn(outgoing).hasFailed;
}

/** Outcomes of a call that the backend has answered, or has refused to execute. */
const KNOWN_OUTCOMES: ReadonlySet<CallOutcome> = new Set([
  'answered',
  'error',
  'refused',
  'connection_required',
]);
const NOTHING = (): void => undefined;

function performOnBody(
  effect: RequestEffect & { readonly do: 'resumeBody' | 'stopBody' | 'stopUpload' | 'cancelUpload' },
  phase: RequestPhase,
): void {
  // Its memory may have been refused meanwhile.
  if (effect.do === 'resumeBody' && phase.kind === 'receiving') effect.body.resume();
  if (effect.do === 'stopBody') effect.body.stop();
  if (effect.do !== 'stopUpload' && effect.do !== 'cancelUpload') return;
  effect.body.body.stop();
  if (effect.do === 'stopUpload') effect.body.upload.stop();
  else effect.body.upload.cancel();
}
