/** One authorized request on its way: read → check → credential → backend → record. */

import { performance } from 'node:perf_hooks';
import { allowLongBody } from '@portcullis/http/node';
import type { CallAudit, CallDecision, CallOutcome } from './audit/call-record.ts';
import { STATELESS } from './backends/revisions.ts';
import type { ConnectionRetry, ConnectionRounds } from './connection-rounds.ts';
import {
  type BackendCredential,
  ConnectionRequired,
  type CredentialSource,
} from './credentials/credential-source.ts';
import type { MessageEdit } from './http/edited-body.ts';
import { invalidRequest, tooManyCalls } from './http/error-response.ts';
import { isPlainJson } from './http/headers.ts';
import { RequestBody } from './http/request-body.ts';
import type { ServerPlaces } from './http/request-places.ts';
import { StreamedBody } from './http/streamed-body.ts';
import { CONNECTION_PACE, CONNECTION_WAIT, MAX_RECORDED_MESSAGES, MAX_TOOL_NAME } from './limits/bounds.ts';
import type { CallRate } from './limits/call-rate.ts';
import type { MergedPart } from './merged/merged-server.ts';
import { MessageError } from './messages/message-error.ts';
import type { BodyScanner, ScannedBody, ScannedMessage } from './messages/scanned-message.ts';
import { checkLists, createLongWatch, isListMethod, mayHoldLists } from './policy/list-results.ts';
import type { ServerPath } from './server-path.ts';
import type { GatewayRequest } from './servers/request.ts';
import type { GatewayServer } from './servers/server.ts';
import {
  createMessageHandles,
  isNoQuestion,
  isPlainNotification,
  isTaskMethod,
  type MessageHandles,
  mayAnswerWithHandles,
  mayHoldHandles,
} from './sessions/message-handles.ts';
import type { Sealer } from './sessions/sealer.ts';

/** A server with what serves it. */
export interface ServedServer {
  readonly server: GatewayServer;
  /** For servers that merge it; `null` for those themselves. */
  readonly part: MergedPart | null;
  readonly path: ServerPath;
  readonly places: ServerPlaces;
  /** `null`: calls are not limited. */
  readonly rate: CallRate | null;
  readonly createScanner: (request: GatewayRequest) => BodyScanner;
  /**
   * Refuses what needs neither a credential nor the backend to be refused: headers that disagree, operations that are never allowed.
   * @throws MessageError
   */
  readonly checkRules: (request: GatewayRequest, body: ScannedBody) => void;
  /**
   * Decides whether the messages of a body may pass: scopes, approved tools.
   * @throws OAuthError `insufficient_scope`, MessageError
   */
  readonly checkMessages: CheckMessages;
  /** Filters the lists in a response. */
  readonly editResponse: (
    message: unknown,
    request: GatewayRequest,
    credential: BackendCredential,
  ) => unknown;
}

type CheckMessages = (
  request: GatewayRequest,
  body: ScannedBody,
  credential: BackendCredential,
) => void | Promise<void>;

export interface HandlingServices {
  readonly credentials: CredentialSource;
  readonly sealer: Sealer;
  readonly audit: CallAudit;
  readonly rounds: ConnectionRounds;
  /** Sends the response for an error. @returns what was decided, for the audit log */
  readonly respondError: (request: GatewayRequest, error: unknown, id: string | null) => CallDecision | null;
}

const METHODS: readonly (string | undefined)[] = ['POST', 'GET', 'DELETE'];

/** Never throws. */
export function handleRequest(
  services: HandlingServices,
  served: ServedServer,
  request: GatewayRequest,
): void {
  new Handling(services, served, request).start();
}

/** Ways in which users reach a backend as one: it cannot tell the tasks of one from those of another. */
const SHARED: ReadonlySet<string> = new Set(['none', 'header', 'application']);

function refuseTaskLists({ backend, name }: GatewayServer, { messages }: ScannedBody): void {
  if (backend === null || backend.kind === 'stdio' || !SHARED.has(backend.credentials.as)) return;
  const found = messages.find(({ method }) => method === 'tasks/list');
  if (found === undefined) return;
  const text = `${name} does not know its users, so that it cannot list the tasks of one of them.`;
  throw new MessageError(METHOD_NOT_FOUND, text, { status: 200, id: found.id });
}

const METHOD_NOT_FOUND = -32_601;

/** Whether nothing needs the whole body before it is sent. */
function mayPassEarly({ server, incoming }: GatewayRequest, { messages: [message] }: ScannedBody): boolean {
  const { backend, audit } = server;
  if (message === undefined || audit !== null || backend === null || backend.kind === 'stdio') return false;
  // A retry after the user has connected an account is rewritten.
  if (backend.credentials.as === 'user' && incoming.headers['mcp-session-id'] === undefined) return false;
  if (isTaskMethod(message.method) && message.task === null) return false;
  // Its id may follow.
  if (message.kind === 'response' && message.question === null) return false;
  return message.method !== 'initialize';
}

/** Whether what prevents a body from being sent is to be decided about with all of it: the error needs its id, or a wait follows. */
function mustBeHeld(error: unknown, { messages }: ScannedBody): boolean {
  if (error instanceof ConnectionRequired) return true;
  return error instanceof MessageError && messages.every(({ id }) => id === null);
}

class Handling {
  readonly #services: HandlingServices;
  readonly #served: ServedServer;
  readonly #request: GatewayRequest;
  #scanned: ScannedBody | null = null;
  #received: RequestBody | null = null;
  /** The whole body. */
  #body: Buffer | null = null;
  /** The body that passes while it arrives. */
  #upload: StreamedBody | null = null;
  /** Whether the body is held until it is whole, however long it is. */
  #isHeld = false;
  /** Gives back the memory of a long body that is held; `null`: none was taken. */
  #freeMemory: (() => void) | null = null;
  #isLimited = false;
  readonly #handles: MessageHandles;
  /** The body with its handles opened. */
  #sent: Buffer | null = null;
  #retry: ConnectionRetry | null = null;
  /** Whether it is tried again, since the user is connecting an account. */
  #isWaiting = false;
  #isRecorded = false;

  constructor(services: HandlingServices, served: ServedServer, request: GatewayRequest) {
    this.#services = services;
    this.#served = served;
    this.#request = request;
    this.#handles = createMessageHandles(services.sealer, request.owner);
  }

  start(): void {
    this.#try(() => {
      const { method, headers } = this.#request.incoming;
      if (!METHODS.includes(method))
        throw invalidRequest(405, 'This server supports POST, GET and DELETE.', [
          'allow',
          'POST, GET, DELETE',
        ]);
      this.#served.path.checkHandles(this.#request);
      if (method !== 'POST') {
        this.#findCredential();
        return;
      }
      if (!isPlainJson(headers))
        throw invalidRequest(415, 'Send the body as application/json in UTF-8, not compressed.');
      this.#receive();
    });
  }

  #receive(): void {
    const { incoming } = this.#request;
    const scanner = this.#served.createScanner(this.#request);
    const received = new RequestBody(incoming, this.#served.server.limits.body, scanner, {
      whole: (body) => this.#try(() => this.#takeWhole(body, scanner.end())),
      long: () => this.#considerUpload(received, scanner),
      fail: this.#fail,
    });
    this.#received = received;
    received.receive();
  }

  #takeWhole(body: Buffer, scanned: ScannedBody): void {
    this.#body = body;
    this.#scanned = scanned;
    this.#check(scanned);
    this.#retry = this.#services.rounds.readRetry(this.#request.owner, scanned, body);
    this.#sent = this.#retry?.body ?? this.#handles.open(body, scanned);
    this.#findCredential();
  }

  /** Lets a long body pass while it arrives, once it is known what it asks for. */
  #considerUpload(received: RequestBody, scanner: BodyScanner): void {
    const scanned = this.#isHeld ? null : scanner.peek();
    const isKnown = scanned !== null && mayPassEarly(this.#request, scanned);
    this.#isHeld ||= isKnown;
    const { path } = this.#served;
    const release = isKnown ? path.takeUpload(this.#request) : null;
    if (scanned === null || release === null) {
      this.#holdLong(received);
      return;
    }
    this.#request.outgoing.once('close', release);
    received.pause();
    this.#startUpload(received, scanner, scanned).catch((error: unknown) => {
      if (this.#upload !== null || !mustBeHeld(error, scanned)) return this.#fail(error);
      this.#scanned = null;
      this.#try(() => {
        this.#holdLong(received);
        received.resume();
      });
    });
  }

  /** Takes the memory of the whole body: how long it becomes is not always known. */
  #holdLong({ declared }: RequestBody): void {
    const { owner, server, outgoing } = this.#request;
    if (this.#freeMemory !== null) return;
    this.#freeMemory = this.#served.places.takeMemory(owner, declared ?? server.limits.body);
    outgoing.once('close', this.#freeMemory);
  }

  async #startUpload(received: RequestBody, scanner: BodyScanner, scanned: ScannedBody): Promise<void> {
    const { principal, server, incoming, outgoing } = this.#request;
    this.#scanned = scanned;
    this.#check(scanned);
    const credential = await this.#services.credentials.for(principal, server);
    await this.#served.checkMessages(this.#request, scanned, credential);
    if (outgoing.destroyed) {
      this.#record({ outcome: 'cancelled', backendMs: 0, responseBytes: 0 });
      return;
    }
    const upload = new StreamedBody({
      ...{ body: received, scanner, scanned },
      // How long request states are when they are opened is not known in advance.
      hasLength: incoming.headers['mcp-protocol-version'] !== STATELESS,
      open: (bytes, known, from, keepsLength) => this.#handles.open(bytes, known, { from, keepsLength }),
      idle: server.limits.idle,
      end: () => this.#try(() => this.#finishUpload(upload, scanner.end(), credential)),
      fail: this.#fail,
    });
    this.#freeMemory?.();
    allowLongBody(incoming, outgoing);
    this.#upload = upload;
    this.#forward(credential);
  }

  /** Everything is checked once more: what the backend has got so far is not complete. */
  #finishUpload(upload: StreamedBody, scanned: ScannedBody, credential: BackendCredential): void {
    this.#scanned = scanned;
    this.#check(scanned);
    const checked = this.#served.checkMessages(this.#request, scanned, credential);
    this.#then(checked, () => upload.finish(scanned));
  }

  #check(scanned: ScannedBody): void {
    refuseTaskLists(this.#served.server, scanned);
    this.#limit(scanned);
    this.#served.checkRules(this.#request, scanned);
  }

  /** Counts the calls of tools by user, across clients; once. */
  #limit({ messages }: ScannedBody): void {
    const { rate, server } = this.#served;
    if (rate === null || this.#isLimited) return;
    this.#isLimited = true;
    const { issuer, subject } = this.#request.principal;
    for (const { tool } of messages) {
      if (tool === null) continue;
      const wait = rate.take(`${issuer} ${subject} ${tool.slice(0, MAX_TOOL_NAME)}`, performance.now());
      if (wait > 0) throw tooManyCalls(`Too many calls of ${tool} at ${server.name}.`, wait);
    }
  }

  #findCredential(): void {
    const { principal, server } = this.#request;
    this.#then(this.#services.credentials.for(principal, server), (credential) => {
      if (this.#scanned === null) this.#forward(credential);
      else {
        const checked = this.#served.checkMessages(this.#request, this.#scanned, credential);
        this.#then(checked, () => this.#forward(credential));
      }
    });
  }

  #forward(credential: BackendCredential): void {
    const body = this.#upload ?? this.#sent;
    const forwarding = { credential, body, name: this.#name(), edit: this.#editOf(credential) };
    this.#served.path.forward(this.#request, forwarding).then((end) => {
      if (this.#isRecorded) return;
      if (end.kind === 'failed') this.#respondError(end.error);
      this.#record({ ...end, outcome: end.kind === 'failed' ? end.outcome : end.kind });
    }, this.#fail);
  }

  #name(): string | null {
    const name = this.#request.incoming.headers['mcp-name'];
    if (typeof name !== 'string') return null;
    return this.#scanned === null ? name : this.#handles.openName(name, this.#scanned);
  }

  /** Backends may send a list in the response to another request, and clients take it by its id. */
  #editOf(credential: BackendCredential): MessageEdit {
    const mayList = this.#mayList();
    // Not all of a message is known that is being received.
    const mayHold = this.#upload !== null || this.#scanned?.messages.some(mayAnswerWithHandles) === true;
    const mayPassLong = mayList ? isPlainNotification : isNoQuestion;
    return {
      apply: async (message) =>
        this.#handles.seal(await this.#served.editResponse(message, this.#request, credential)),
      check: checkLists,
      mayApply: (bytes) => mayHoldLists(bytes) || mayHoldHandles(bytes),
      mayPassLong,
      watchLong: () => createLongWatch(mayPassLong),
      forDocuments: mayList || mayHold,
    };
  }

  /** A stream may resume the response to a list. */
  #mayList(): boolean {
    const { method } = this.#request.incoming;
    if (this.#scanned === null) return method === 'GET';
    return this.#scanned.messages.some((message) => isListMethod(message.method));
  }

  #then<T>(value: T | Promise<T>, next: (value: T) => void): void {
    if (value instanceof Promise) value.then((one) => this.#try(() => next(one)), this.#fail);
    else next(value);
  }

  #try(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#fail(error);
    }
  }

  readonly #respondError = (error: unknown): CallDecision | null => {
    this.#isWaiting = this.#mayWait(error);
    if (this.#isWaiting) {
      setTimeout(() => this.#lookAgain(), CONNECTION_PACE).unref();
      return null;
    }
    const id = error instanceof MessageError ? error.id : (this.#message()?.id ?? null);
    return this.#services.respondError(this.#request, this.#translate(error), id);
  };

  #lookAgain(): void {
    this.#isWaiting = false;
    if (!this.#request.outgoing.destroyed) this.#try(() => this.#findCredential());
    else this.#record({ outcome: 'cancelled', backendMs: 0, responseBytes: 0 });
  }

  /** Whether the user is connecting the account that is missing: nothing has happened at the backend. */
  #mayWait(error: unknown): boolean {
    const { outgoing, startedAt } = this.#request;
    if (!(error instanceof ConnectionRequired) || this.#retry === null || this.#retry.isDeclined)
      return false;
    return !outgoing.destroyed && !outgoing.headersSent && performance.now() - startedAt < CONNECTION_WAIT;
  }

  #translate(error: unknown): unknown {
    if (!(error instanceof ConnectionRequired) || this.#body === null) return error;
    return this.#services.rounds.answer(error, this.#request.owner, this.#body, this.#retry);
  }

  readonly #fail = (error: unknown): void => {
    this.#end(error);
    this.#upload?.cancel();
  };

  #end(error: unknown): void {
    const decision = this.#respondError(error);
    const end = { backendMs: 0, responseBytes: 0 };
    if (error instanceof ConnectionRequired) {
      this.#record({ outcome: 'connection_required', ...end });
      return;
    }
    // A request that could not be served was not refused.
    if (this.#request.outgoing.statusCode >= 500) this.#record({ outcome: 'unavailable', ...end });
    else
      this.#record(
        { outcome: 'refused', ...end },
        decision ?? (error instanceof MessageError ? error.decision : 'invalid'),
      );
  }

  #message(): ScannedMessage | null {
    return this.#scanned?.messages[0] ?? null;
  }

  readonly #record = (
    { outcome, backendMs, responseBytes }: { outcome: CallOutcome; backendMs: number; responseBytes: number },
    decision: CallDecision = 'allowed',
  ): void => {
    if (this.#isRecorded || this.#isWaiting) return;
    this.#isRecorded = true;
    this.#upload?.stop();
    const { outgoing, incoming } = this.#request;
    const common = {
      request: this.#request,
      decision,
      outcome,
      status: outgoing.headersSent ? outgoing.statusCode : null,
      backendMs,
      requestBytes: this.#received?.length ?? 0,
      responseBytes,
    };
    const { audit } = this.#services;
    for (const { method, tool, prompt, resource, arguments: range } of this.#recordedMessages()) {
      const target = tool ?? prompt ?? resource;
      const bytes = range === null ? null : (this.#body?.subarray(range.start, range.end) ?? null);
      audit.record({ ...common, method, target, arguments: this.#upload?.argumentsHash ?? bytes });
    }
    if (this.#message() === null)
      audit.record({ ...common, method: incoming.method ?? '', target: null, arguments: null });
  };

  #recordedMessages(): readonly ScannedMessage[] {
    return this.#scanned?.messages.slice(0, MAX_RECORDED_MESSAGES) ?? [];
  }
}
