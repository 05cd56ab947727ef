/** A merged server: offers the tools, prompts and resources of its members, by the rules, credentials and approvals of each. */

import {
  errorCodes,
  errorResponse,
  isMembers,
  isRequest,
  type JsonFields,
  type Message,
  type MessageId,
  parameter,
  toDouble,
} from '@portcullis/http';
import { readRule } from '@portcullis/policy';
import { isAnonymous, type Principal } from '@portcullis/resource-server';
import {
  BackendError,
  type BackendSession,
  type Call,
  type InitializeParams,
  type MessageBackend,
  orInNewSession,
} from '../backends/backend.ts';
import { refuseServerRequest } from '../backends/clients/waiting-calls.ts';
import { listPages } from '../backends/list-pages.ts';
import { LOG_LEVELS, unknownLogLevel } from '../backends/revisions.ts';
import type { CredentialSource } from '../credentials/credential-source.ts';
import { countCall } from '../http/slots.ts';
import { MAX_SERVER_REQUESTS } from '../limits.ts';
import { LISTS } from '../messages/check-responses.ts';
import { MessageError } from '../messages/message-error.ts';
import type { ScannedMessage } from '../messages/scanned-message.ts';
import { checkForbidden, type UnapprovedCall, unknownTool } from '../policy/check-messages.ts';
import { compilePolicy } from '../policy/compile-policy.ts';
import { LISTEN, reportedOperation } from '../policy/streams.ts';
import type { RunningBackend, ServedControl } from '../served-server.ts';
import {
  prefixNotification,
  prefixResult,
  splitMessage,
  splitTarget,
  splitUri,
  withTarget,
} from '../servers/merged-names.ts';
import { type OwnedRequest, ownerOf } from '../servers/request.ts';
import { hasPublicOperations, rulesOf } from '../servers/resources.ts';
import type { AccessRules, GatewayServer, RuleTable } from '../servers/server.ts';

/** Prefix → member, which decides about messages with its own names. */
type MergedParts = ReadonlyMap<string, RunningBackend>;

/** Capabilities declared for all members: one that lacks a capability returns an empty list. */
const CAPABILITIES: JsonFields = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  completions: {},
  logging: {},
};

/** Decides about each message by the rules and tools of its member. */
export function createMergedControl(
  { id }: GatewayServer,
  parts: MergedParts,
  credentials: CredentialSource,
): ServedControl {
  const source = { index: 0, id, rules: publicRulesOf(parts), unknownMethods: 'pass' } as const;
  const policy = compilePolicy(source, { offered: [] });
  return {
    /** Also refuses names without a member, and without a token what concerns no public operation. */
    checkRules(sender, body) {
      for (const message of body.messages) {
        // Before its name is looked up: a notification gets no response. @see JSON-RPC 2.0 §4.1
        if (message.kind === 'notification' && namesTarget(message))
          throw new MessageError('invalidRequest', `${message.method} is a request: send it with an id.`);
        const found = findParts(parts, message);
        if (found.length === 0 && isAnonymous(sender.principal))
          checkForbidden(policy, { ...body, messages: [message] }, sender);
        for (const [part, own] of found) part.control.checkRules(sender, { ...body, messages: [own] });
      }
    },
    readsArguments: () => true,
    async decide({ principal, network }, body) {
      let unapproved: UnapprovedCall | null = null;
      for (const [part, own] of body.messages.flatMap((message) => findParts(parts, message))) {
        const credential = await credentials.for(principal, part.server);
        const request = requestOf(part, principal, network);
        const decided = await part.control.decide(request, { ...body, messages: [own] }, credential);
        unapproved = decided ?? unapproved;
      }
      return unapproved;
    },
    editResponse: (message) => message,
    mayReport(message, { principal, network }) {
      const reporter: RunningBackend | undefined = Object(message)[REPORTER];
      const decision = reporter?.control.decideMethod(LISTEN, requestOf(reporter, principal, network));
      if (decision !== undefined && decision !== 'allow') return false;
      const uri = reportedOperation(message)?.resource ?? null;
      if (uri === null) return true;
      const found = splitUri(uri);
      const part = parts.get(found?.prefix ?? '');
      if (found === null || part === undefined) return false;
      const own = { ...Object(message), params: { uri: found.name } };
      return part.control.mayReport(own, requestOf(part, principal, network));
    },
  };
}

/** Which kinds of operations are public at a member. */
function publicRulesOf(parts: MergedParts): AccessRules {
  const rules = [...parts.values()].flatMap(({ server }) => rulesOf(server));
  const tableOf = (name: string): RuleTable | null =>
    rules.some(({ table, rule }) => table === name && readRule(rule).public)
      ? { '*': { public: true } }
      : null;
  return {
    tools: tableOf('tools'),
    resources: tableOf('resources'),
    prompts: tableOf('prompts'),
    methods: null,
  };
}

/** The member of a message that belongs to no request: its rules say who receives it. Copies of the message have it as well. */
const REPORTER: unique symbol = Symbol('reporter');

type PartMessages = readonly (readonly [RunningBackend, ScannedMessage])[];

/** The messages for each member; none for a message that concerns several. @throws MessageError for a name without a member */
function findParts(parts: MergedParts, message: ScannedMessage): PartMessages {
  const { tool, prompt, resource, subscriptions } = message;
  const uris = subscriptions.flatMap((uri) =>
    findPart(parts, { ...message, subscriptions: [], resource: uri }),
  );
  return (tool ?? prompt ?? resource) === null ? uris : [...uris, ...findPart(parts, message)];
}

function namesTarget({ tool, prompt, resource, subscriptions }: ScannedMessage): boolean {
  return (tool ?? prompt ?? resource) !== null || subscriptions.length > 0;
}

function findPart(parts: MergedParts, message: ScannedMessage): PartMessages {
  const found = splitTarget(message);
  const part = found && parts.get(found.prefix);
  if (found === null || part === null || part === undefined)
    throw message.tool === null ? unknownName(message) : unknownTool(message);
  const { tool, prompt, resource } = message;
  const written = tool ?? prompt ?? resource ?? '';
  return [[part, { ...withTarget(message, found.name), mergedName: written }]];
}

/** @see MCP 2025-11-25 and 2026-07-28, resources and prompts, error handling */
function unknownName({ prompt, resource, id, protocolVersion }: ScannedMessage): MessageError {
  const code = resource !== null && protocolVersion === null ? 'resourceNotFound' : 'invalidParams';
  const text = resource === null ? `Unknown prompt: ${prompt}` : `Resource not found: ${resource}`;
  return new MessageError(code, text, { status: 200, id });
}

function requestOf(
  { server }: Pick<RunningBackend, 'server'>,
  principal: Principal,
  network = '',
): OwnedRequest {
  return { principal, server, owner: ownerOf(principal, server, network), network };
}

/** A backend that consists of sessions with the members, each opened on first use. */
export function createMergedBackend(
  server: GatewayServer,
  parts: MergedParts,
  credentials: CredentialSource,
): MessageBackend {
  const sessions = new Set<MergedSession>();
  return {
    async open(_owner, initialize, { principal, isShared }) {
      if (principal === null) throw new BackendError('refused', 'Merged servers are opened for users only.');
      const session = new MergedSession(server, parts, credentials, initialize, { principal, isShared });
      sessions.add(session);
      void session.ended.then(() => sessions.delete(session));
      return session;
    },
    isUp: () => true,
    close: async () => void (await Promise.all([...sessions].map((session) => session.close()))),
  };
}

/** Decisions that no scope and no sign-in changes. */
const FORBIDDEN: ReadonlySet<string> = new Set(['deny', 'challenge']);

/** Who sends a message, from where. */
type Sender = Pick<Call, 'network' | 'principal'>;

type Request = Parameters<BackendSession['request']>[0];

/** A server request of a member. */
interface MemberRequest {
  readonly prefix: string;
  /** That sent it: another one of the member, opened later, does not know it. */
  readonly session: BackendSession;
  readonly progressToken: unknown;
}

class MergedSession implements BackendSession {
  readonly initialized;
  readonly ended: Promise<void>;
  readonly #end: () => void;
  readonly #parts: MergedParts;
  readonly #credentials: CredentialSource;
  readonly #initialize: InitializeParams;
  readonly #principal: Principal;
  readonly #isShared: boolean | undefined;
  readonly #opened = new Map<string, Promise<BackendSession>>();
  /** The request for the log level, also for members that are opened later. */
  #level: Request | null = null;
  readonly #receivers = new Set<(message: Message) => void>();
  /** Server requests of members, by the ids that the gateway assigned. */
  readonly #serverRequests = new Map<MessageId, MemberRequest>();

  constructor(
    { name }: GatewayServer,
    parts: MergedParts,
    credentials: CredentialSource,
    initialize: InitializeParams,
    { principal, isShared }: { readonly principal: Principal; readonly isShared: boolean | undefined },
  ) {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.ended = promise;
    this.#end = resolve;
    this.#parts = parts;
    this.#credentials = credentials;
    this.#initialize = initialize;
    this.#principal = principal;
    this.#isShared = isShared;
    const { protocolVersion } = initialize;
    this.initialized = { protocolVersion, capabilities: CAPABILITIES, serverInfo: { name, version: '1' } };
  }

  async request(message: Request, call: Call) {
    const { id, method } = message;
    const list = LISTS.get(method);
    // A list is one page.
    if (list !== undefined && (parameter(message, 'cursor') ?? null) !== null)
      return errorResponse(id, errorCodes.invalidParams, 'This cursor was not issued here.');
    if (list !== undefined)
      return { jsonrpc: '2.0', id, result: await this.#list(method, list, call) } as const;
    if (method === 'ping') return { jsonrpc: '2.0', id, result: {} } as const;
    if (method === 'logging/setLevel') {
      const level = parameter(message, 'level');
      if (!LOG_LEVELS.includes(level)) return unknownLogLevel(id, level);
      this.#level = message;
      const allowed = [...this.#opened.keys()].filter((prefix) => this.#allows(prefix, method, call));
      // A failing one does not affect the others.
      await Promise.allSettled(allowed.map((prefix) => this.#ask(prefix, message, call)));
      return { jsonrpc: '2.0', id, result: {} } as const;
    }
    const own = splitMessage(message);
    if (own === null || !this.#parts.has(own.prefix))
      return errorResponse(id, errorCodes.methodNotFound, `Merged servers do not know ${method}.`);
    const { prefix } = own;
    this.#countCall(prefix, own.message, call);
    const response = await this.#ask(prefix, { ...own.message, id, method }, call);
    return isMembers(response.result)
      ? { ...response, result: prefixResult(prefix, response.result) }
      : response;
  }

  async notify(message: Message, sender: Sender = {}): Promise<void> {
    const { method } = message;
    if (method === undefined) {
      const id = message.id ?? '';
      const request = this.#serverRequests.get(id);
      if (request === undefined) throw new BackendError('not_pending', 'No server request has this id.');
      this.#serverRequests.delete(id);
      return request.session.notify(message);
    }
    const concerned = this.#concernedBy(message).filter((prefix) => this.#allows(prefix, method, sender));
    await Promise.allSettled(concerned.map(async (prefix) => (await this.#session(prefix)).notify(message)));
  }

  listen(receive: (message: Message) => void): () => void {
    this.#receivers.add(receive);
    return () => this.#receivers.delete(receive);
  }

  async close(): Promise<void> {
    const opened = await Promise.allSettled(this.#opened.values());
    this.#opened.clear();
    await Promise.allSettled(opened.map((one) => one.status === 'fulfilled' && one.value.close()));
    this.#end();
  }

  /** The lists of all members; a member that does not respond is omitted. */
  async #list(method: string, member: string, call: Call): Promise<JsonFields> {
    const lists = await Promise.all(
      [...this.#parts.keys()].map((prefix) => {
        const list = () => this.#listPart(prefix, method, member, call);
        return orInNewSession(list).catch(() => []);
      }),
    );
    return { [member]: lists.flat() };
  }

  async #listPart(prefix: string, method: string, member: string, call: Call): Promise<readonly unknown[]> {
    const part = this.#partOf(prefix);
    const { principal = this.#principal } = call;
    if (isAnonymous(principal) && !hasPublicOperations(part.server)) return [];
    if (!this.#allows(prefix, method, call)) return [];
    const request = requestOf(part, principal, call.network);
    const entries: unknown[] = [];
    for await (const { result } of listPages((page) => this.#ask(prefix, page, call), method)) {
      if (!isMembers(result)) break;
      const credential = await this.#credentials.for(principal, part.server);
      const allowed = await part.control.filter(result, request, credential.key);
      const list = isMembers(allowed) ? prefixResult(prefix, allowed)[member] : null;
      if (Array.isArray(list)) entries.push(...list);
    }
    return entries;
  }

  /** Whether the rules of a member allow a message that names nothing, and goes to all members. */
  #allows(prefix: string, method: string, { network, principal = this.#principal }: Sender): boolean {
    const part = this.#partOf(prefix);
    return part.control.decideMethod(method, requestOf(part, principal, network)) === 'allow';
  }

  /** The open members that a notification is for. What it says of one member is none of the others' business. */
  #concernedBy(message: Message): readonly string[] {
    const opened = [...this.#opened.keys()];
    if (message.method === 'notifications/roots/list_changed') return opened;
    if (message.method !== 'notifications/progress') return [];
    const token = toDouble(parameter(message, 'progressToken'));
    const requests = [...this.#serverRequests.values()].filter((one) => one.progressToken === token);
    // Two members may have chosen the same one.
    const prefixes = new Set(requests.map(({ prefix }) => prefix));
    return token !== undefined && prefixes.size === 1 ? [...prefixes] : [];
  }

  /** Calls count at the member too, as direct ones do. */
  #countCall(prefix: string, { method, params }: Message, { network }: Call): void {
    const tool = isMembers(params) ? params['name'] : null;
    if (method !== 'tools/call' || typeof tool !== 'string') return;
    const part = this.#partOf(prefix);
    countCall(part, requestOf(part, this.#principal, network).owner, tool);
  }

  /** A request occupies a slot of the member, as a direct one does. */
  async #ask(prefix: string, message: Request, call: Call) {
    const part = this.#partOf(prefix);
    const release = part.slots.takeRequest(requestOf(part, this.#principal, call.network).owner);
    try {
      const session = await this.#session(prefix);
      const { receive } = call;
      return await session.request(message, {
        ...call,
        ...(receive && { receive: (received: Message) => receive(this.#receive(prefix, session, received)) }),
      });
    } finally {
      release();
    }
  }

  #partOf(prefix: string): RunningBackend {
    const part = this.#parts.get(prefix);
    if (part === undefined) throw new BackendError('refused', `There is no part ${prefix}.`);
    return part;
  }

  #session(prefix: string): Promise<BackendSession> {
    const known = this.#opened.get(prefix);
    if (known !== undefined) return known;
    const opening = this.#open(prefix);
    this.#opened.set(prefix, opening);
    opening.catch(() => this.#opened.delete(prefix));
    return opening;
  }

  async #open(prefix: string): Promise<BackendSession> {
    const part = this.#partOf(prefix);
    const request = requestOf(part, this.#principal);
    const session = await part.path.open(request, this.#initialize, this.#isShared);
    session.listen((message) => {
      // The member must not wait for what none of its client's tokens can receive.
      if (isRequest(message) && FORBIDDEN.has(part.control.decideMethod(LISTEN, request)))
        return void refuseServerRequest(session, message.id);
      const received = { ...this.#receive(prefix, session, message), [REPORTER]: part };
      for (const receive of this.#receivers) receive(received);
    });
    if (this.#level !== null && this.#allows(prefix, this.#level.method, {}))
      await session.request(this.#level, { signal: AbortSignal.timeout(5000) }).catch(() => undefined);
    // The next request opens another one.
    void session.ended.then(() => this.#opened.delete(prefix));
    return session;
  }

  /** Refuses the oldest one when there are too many: it may be of a call that has ended. */
  #addServerRequest(id: MessageId, request: MemberRequest): void {
    this.#serverRequests.set(id, request);
    const [oldest] = this.#serverRequests;
    if (this.#serverRequests.size <= MAX_SERVER_REQUESTS || oldest === undefined) return;
    const [oldestId, { session }] = oldest;
    this.#serverRequests.delete(oldestId);
    void refuseServerRequest(session, oldestId);
  }

  #receive(prefix: string, session: BackendSession, message: Message): Message {
    if (message.method === undefined) return message;
    const progressToken = toDouble(parameter(message, '_meta', 'progressToken'));
    if (isRequest(message)) this.#addServerRequest(message.id, { prefix, session, progressToken });
    return message.id === undefined ? prefixNotification(prefix, message) : message;
  }
}
