/** One authorization as a sequence diagram: the messages that its events stand for, in the words of the RFCs. */
import type { AuditEventRecord } from '@portcullis/authorization-server/store';

/** Who sends and receives, from left to right. */
export const LANE_NAMES = {
  browser: 'Browser',
  app: 'App',
  portcullis: 'Portcullis',
  identityProvider: 'Identity provider',
  backend: 'Backend',
} as const;

export type Lane = keyof typeof LANE_NAMES;

const LANES = Object.keys(LANE_NAMES) as Lane[];

/** One message. */
export interface SequenceMessage {
  readonly from: Lane;
  readonly to: Lane;
  /** What it is, by its RFC: `Access token request`. */
  readonly term: string;
  /** Where that is defined: `RFC 6749 §4.1.3`. */
  readonly source: string;
  /** What it was about: a tool, an error. */
  readonly about: string;
  /** Who decided, and by which rule; empty where nothing was refused. */
  readonly because: string;
  readonly isRefused: boolean;
  /** Epoch milliseconds when it was sent. */
  readonly at: number;
  /** Milliseconds until its response; `null`: not measured. */
  readonly duration: number | null;
}

/** The messages, in order. */
export interface SequenceDiagram {
  /** Those that take part, from left to right. */
  readonly lanes: readonly Lane[];
  readonly messages: readonly SequenceMessage[];
}

/** What a type of event stands for. */
type Meaning = readonly [from: Lane, to: Lane, term: string, source: string];

const MEANINGS: Readonly<Record<string, Meaning>> = {
  'client.registered': ['app', 'portcullis', 'Client registration request', 'RFC 7591 §3.1'],
  'authorization.started': ['browser', 'portcullis', 'Authorization request', 'RFC 6749 §4.1.1'],
  'device_authorization.started': ['app', 'portcullis', 'Device authorization request', 'RFC 8628 §3.1'],
  'device_authorization.approved': ['browser', 'portcullis', 'User authorizes the device', 'RFC 8628 §3.3'],
  'device_authorization.denied': ['browser', 'portcullis', 'User denies the device', 'RFC 8628 §3.3'],
  'federated_login.started': [
    'portcullis',
    'identityProvider',
    'Authentication request',
    'OIDC Core §3.1.2.1',
  ],
  'federated_login.failed': [
    'identityProvider',
    'portcullis',
    'Authentication error response',
    'OIDC Core §3.1.2.6',
  ],
  'identity_provider.failed': ['identityProvider', 'portcullis', 'No response', 'OIDC Core §3.1.3'],
  'account.created': ['portcullis', 'portcullis', 'Account created', ''],
  'login.failed': ['browser', 'portcullis', 'End-user authentication', 'RFC 6749 §3.1'],
  'consent.allowed': ['browser', 'portcullis', 'Resource owner authorizes', 'RFC 6749 §4.1'],
  'consent.remembered': ['portcullis', 'portcullis', 'Remembered consent', 'RFC 6749 §4.1'],
  'consent.denied': ['browser', 'portcullis', 'Resource owner denies', 'RFC 6749 §4.1.2.1'],
  'authorization_code.issued': ['portcullis', 'app', 'Authorization response', 'RFC 6749 §4.1.2'],
  'authorization_code.replayed': ['app', 'portcullis', 'Access token request', 'RFC 6749 §4.1.3'],
  'token.issued': ['app', 'portcullis', 'Access token request', 'RFC 6749 §4.1.3'],
  'token.exchanged': ['backend', 'portcullis', 'Token exchange request', 'RFC 8693 §2.1'],
  'token.first_used': ['backend', 'portcullis', 'Introspection request', 'RFC 7662 §2.1'],
  'assertion.issued': ['app', 'portcullis', 'Token exchange request', 'RFC 8693 §2.1'],
  'refresh_token.rotated': ['app', 'portcullis', 'Refresh request', 'RFC 6749 §6'],
  'refresh_token.retried': ['app', 'portcullis', 'Refresh request', 'RFC 6749 §6'],
  'refresh_token.ahead_of_store': ['app', 'portcullis', 'Refresh request', 'RFC 6749 §6'],
  'refresh_token.reuse_detected': ['app', 'portcullis', 'Refresh request', 'RFC 9700 §4.14'],
  'token.revoked': ['app', 'portcullis', 'Revocation request', 'RFC 7009 §2.1'],
  'grant.revoked': ['portcullis', 'portcullis', 'Grant revoked', 'RFC 7009 §2'],
  'provider_token.stored': ['identityProvider', 'portcullis', 'Token response', 'OIDC Core §3.1.3.3'],
  'provider_token.refreshed': ['portcullis', 'identityProvider', 'Refresh request', 'RFC 6749 §6'],
  'provider_token.ended': ['identityProvider', 'portcullis', 'Token ended', 'RFC 6749 §5.2'],
  'provider_token.released': ['backend', 'portcullis', 'Token exchange request', 'RFC 8693 §2.1'],
  'provider_token.discarded': ['portcullis', 'identityProvider', 'Revocation request', 'RFC 7009 §2.1'],
  'provider_token.revocation_finished': [
    'portcullis',
    'identityProvider',
    'Revocation request',
    'RFC 7009 §2.1',
  ],
  'approval.requested': ['portcullis', 'browser', 'Approval requested', ''],
  'approval.granted': ['browser', 'portcullis', 'Approval granted', ''],
  'approval.denied': ['browser', 'portcullis', 'Approval denied', ''],
};

/** Refusals, with who decided. */
const REFUSALS: Readonly<Record<string, string>> = {
  'login.failed': 'wrong credentials',
  'federated_login.failed': 'identity provider',
  'identity_provider.failed': 'identity provider',
  'consent.denied': 'resource owner',
  'device_authorization.denied': 'resource owner',
  'authorization_code.replayed': 'the code was used before',
  'refresh_token.reuse_detected': 'the refresh token was used before',
  'provider_token.ended': 'identity provider',
  'approval.denied': 'approver',
};

/** Pages are requested by the browser, all else by the app. */
const PAGES = /^\/?(authorize|login|consent|callback|setup|account|device$)/;

/** The diagram of these events, whatever their order. Events that are no message of an authorization are left out. */
export function drawSequence(events: readonly AuditEventRecord[]): SequenceDiagram {
  const messages = events
    .toSorted((one, other) => (one.id < other.id ? -1 : 1))
    .flatMap(messagesOf)
    .toSorted((one, other) => one.at - other.at);
  const taking = new Set<Lane>(messages.flatMap(({ from, to }) => [from, to]));
  return { lanes: LANES.filter((lane) => taking.has(lane)), messages };
}

function messagesOf(event: AuditEventRecord): readonly SequenceMessage[] {
  if (event.type === 'call.finished') return callOf(event);
  if (event.type === 'request.rejected') return [rejectionOf(event)];
  if (event.type === 'login.succeeded') return [signInOf(event)];
  const meaning = MEANINGS[event.type];
  if (meaning === undefined || isWithinProcess(event)) return [];
  const [from, to, term, source] = meaning;
  const atBackend = textOf(event, 'backend') !== '';
  const laneOf = (lane: Lane): Lane => (lane === 'identityProvider' && atBackend ? 'backend' : lane);
  const decided = REFUSALS[event.type];
  const own = message(event, [laneOf(from), laneOf(to), term, source], {
    about: aboutOf(event),
    isRefused: decided !== undefined,
    because: decided === undefined ? '' : joined(decided, textOf(event, 'reason')),
  });
  return event.type === 'authorization.started' ? [...discoveryOf(event), own] : [own];
}

/** A check of the gateway, which sends nothing. */
function isWithinProcess({ type, details }: AuditEventRecord): boolean {
  return type === 'token.first_used' && details['introspected'] !== true;
}

function message(
  { at }: AuditEventRecord,
  [from, to, term, source]: Meaning,
  more: Partial<SequenceMessage> = {},
): SequenceMessage {
  const plain = { about: '', because: '', isRefused: false, duration: null };
  return { from, to, term, source, at, ...plain, ...more };
}

/** What the client read before, as far as its network is known. */
function discoveryOf(event: AuditEventRecord): readonly SequenceMessage[] {
  const { discovery } = event.details;
  if (typeof discovery !== 'object' || discovery === null) return [];
  const { path, before } = discovery as Readonly<Record<string, unknown>>;
  const [term, source] = String(path).includes('oauth-protected-resource')
    ? (['Protected resource metadata request', 'RFC 9728 §3.1'] as const)
    : (['Authorization server metadata request', 'RFC 8414 §3.1'] as const);
  const at = event.at - 1000 * (typeof before === 'number' ? before : 0);
  return [message(event, ['app', 'portcullis', term, source], { about: String(path ?? ''), at })];
}

function signInOf(event: AuditEventRecord): SequenceMessage {
  const about = textOf(event, 'identityProvider');
  const meaning: Meaning =
    about === ''
      ? ['browser', 'portcullis', 'End-user authentication', 'RFC 6749 §3.1']
      : ['identityProvider', 'portcullis', 'Authentication response', 'OIDC Core §3.1.2.5'];
  return message(event, meaning, { about });
}

function rejectionOf(event: AuditEventRecord): SequenceMessage {
  const endpoint = textOf(event, 'endpoint');
  const meaning: Meaning = PAGES.test(endpoint)
    ? ['portcullis', 'browser', 'Error response', 'RFC 6749 §4.1.2.1']
    : ['portcullis', 'app', 'Error response', 'RFC 6749 §5.2'];
  return message(event, meaning, {
    about: [textOf(event, 'error'), endpoint].filter(Boolean).join(' at '),
    because: joined(textOf(event, 'rule'), textOf(event, 'reason')),
    isRefused: true,
  });
}

/** An event is recorded when its call has ended. */
function callOf(event: AuditEventRecord): readonly SequenceMessage[] {
  const { decision, duration, backendDuration } = event.details;
  const method = textOf(event, 'method') || 'request';
  const isRefused = decision !== 'allowed';
  const at = event.at - (typeof duration === 'number' ? duration : 0);
  const call = message(event, ['app', 'portcullis', method, 'MCP'], {
    about: textOf(event, 'tool') || textOf(event, 'target'),
    at,
    duration: typeof duration === 'number' ? duration : null,
    isRefused,
    because: isRefused
      ? joined(String(decision ?? 'denied'), textOf(event, 'rule'), textOf(event, 'reason'))
      : '',
  });
  if (isRefused || typeof backendDuration !== 'number') return [call];
  const outcome = textOf(event, 'outcome');
  const failed = outcome === 'unavailable' || outcome === 'timeout';
  const own = typeof duration === 'number' ? Math.max(0, duration - backendDuration) : 0;
  const forwarded = message(event, ['portcullis', 'backend', method, 'MCP'], {
    about: textOf(event, 'server'),
    // What the gateway does is mostly before.
    at: at + own,
    duration: backendDuration,
    isRefused: failed,
    because: failed ? outcome : '',
  });
  return [call, forwarded];
}

/** What is known of a reason. */
function joined(...reasons: readonly string[]): string {
  return reasons.filter(Boolean).join(': ');
}

function aboutOf(event: AuditEventRecord): string {
  const named = ['identityProvider', 'backend', 'tool', 'audience'].map((name) => textOf(event, name));
  return named.find((text) => text !== '') ?? '';
}

function textOf({ details }: AuditEventRecord, name: string): string {
  const value = details[name];
  return typeof value === 'string' ? value : '';
}
