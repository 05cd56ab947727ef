/** An event by the Open Cybersecurity Schema Framework. @see OCSF 1.1: Authentication, Account Change, Entity Management, API Activity */
import type { AuditEventRecord } from '@portcullis/authorization-server/store';
import { membersOf } from '../webhooks/event-body.ts';
import { isFailure, type Severity, severityOf } from './severity.ts';

type Members = Readonly<Record<string, unknown>>;

/** `class_uid` of what events become. */
const CLASSES = { accountChange: 3001, authentication: 3002, entityManagement: 3004, apiActivity: 6003 };

const OTHER = 99;

/** Accounts: `activity_id` of Account Change by type; any other event of an account is `OTHER`. */
const ACCOUNT_ACTIVITIES: Readonly<Record<string, number>> = {
  'account.created': 1,
  'account.enabled': 2,
  'password.changed': 3,
  'account.reset_link_created': 4,
  'account.disabled': 5,
  'account.removed': 6,
  'second_factor.enabled': 10,
  'passkey.added': 10,
  'second_factor.disabled': 11,
  'passkey.removed': 11,
  'scim.user_created': 1,
  'scim.user_removed': 6,
};
const ACCOUNT = /^(?:account|password|second_factor|passkey|scim\.user_)/;

/** Sign-in: `activity_id` of Authentication. */
const LOGIN_ACTIVITIES: Readonly<Record<string, number>> = {
  'login.succeeded': 1,
  'login.failed': 1,
  'federated_login.failed': 1,
  'session.ended': 2,
};
const LOGIN = /^(?:login|federated_login|session)\./;

/** What is administered: `activity_id` by the last word of the type. */
const ENTITY = /^(client|initial_access_token|scim\.group|scim\.token|key|data_key|tool|admin)[._]/;
const ENTITY_ACTIVITIES: readonly (readonly [RegExp, number])[] = [
  [/[._](?:added|created|registered)$/, 1],
  [/[._](?:removed|revoked)$/, 4],
  [/^client_metadata_document/, 2],
  [/./, 3],
];

/** Requests through the gateway: `activity_id` of API Activity; a tool may do anything. */
const READS = /^(?:resources\/|prompts\/|tools\/list|completion\/|ping)/;

const SEVERITY_IDS: Readonly<Record<Severity, number>> = { information: 1, warning: 3, critical: 5 };

export function toOcsf(event: AuditEventRecord): object {
  const { type } = event;
  if (LOGIN.test(type))
    return build(event, CLASSES.authentication, LOGIN_ACTIVITIES[type] ?? OTHER, {
      user: userOf(event),
      service: { name: 'Portcullis' },
      is_remote: true,
      src_endpoint: endpointOf(event.details),
    });
  if (ACCOUNT.test(type))
    return build(event, CLASSES.accountChange, ACCOUNT_ACTIVITIES[type] ?? OTHER, {
      user: userOf(event),
      actor: actorOf(event),
      src_endpoint: endpointOf(event.details),
    });
  const entity = ENTITY.exec(type)?.[1];
  if (entity !== undefined) {
    const [, activity = OTHER] = ENTITY_ACTIVITIES.find(([pattern]) => pattern.test(type)) ?? [];
    const { tool, target, keyId, resourceId } = event.details;
    const uid = tool ?? target ?? keyId ?? resourceId ?? event.clientId;
    const members = {
      entity: { type: entity, ...(uid == null ? { name: entity } : { uid: String(uid) }) },
      actor: actorOf(event),
    };
    // The class has its actor from the profile.
    return build(event, CLASSES.entityManagement, activity, members, ['host']);
  }
  return build(event, CLASSES.apiActivity, activityOf(event), {
    actor: actorOf(event),
    api: apiOf(event),
    src_endpoint: endpointOf(event.details),
    ...resourcesOf(event),
    ...responseOf(event),
  });
}

/** @param profiles that the class is extended by */
function build(
  event: AuditEventRecord,
  classUid: number,
  activity: number,
  specific: Members,
  profiles: readonly string[] = [],
): object {
  const { id, at, type, grantId, transactionId, details } = event;
  const correlation = transactionId ?? grantId;
  return {
    activity_id: activity,
    ...(activity === OTHER && { activity_name: type }),
    category_uid: Math.trunc(classUid / 1000),
    class_uid: classUid,
    type_uid: classUid * 100 + activity,
    time: at,
    severity_id: SEVERITY_IDS[severityOf(event)],
    status_id: isFailure(event) ? 2 : 1,
    ...(typeof details['reason'] === 'string' && { status_detail: details['reason'] }),
    message: type,
    metadata: {
      version: '1.1.0',
      uid: id,
      event_code: type,
      product: { name: 'Portcullis', vendor_name: 'Portcullis' },
      ...(correlation !== null && { correlation_uid: correlation }),
      ...(profiles.length > 0 && { profiles }),
    },
    ...specific,
    unmapped: membersOf(event),
  };
}

function userOf({ accountId }: AuditEventRecord): Members {
  return accountId === null ? { name: 'unknown' } : { uid: accountId };
}

/** A client that acts for itself is no user. */
function actorOf({ accountId, clientId, details }: AuditEventRecord): Members {
  return {
    ...(accountId === null ? {} : { user: { uid: accountId } }),
    invoked_by: clientId ?? String(details['site'] ?? 'Portcullis'),
  };
}

/** The address, as far as it is known: of IPv6 the network alone. */
function endpointOf({ network, site }: Members): Members {
  const address = network ?? site;
  if (typeof address !== 'string') return { name: 'unknown' };
  return /^\d+(?:\.\d+){3}$/.test(address) ? { ip: address } : { name: address };
}

function activityOf({ type, details }: AuditEventRecord): number {
  if (type === 'call.finished') return READS.test(String(details['method'])) ? 2 : OTHER;
  if (/\.(?:issued|created|requested|stored)$/.test(type)) return 1;
  return /\.revoked$/.test(type) ? 4 : OTHER;
}

function apiOf({ type, resource, details }: AuditEventRecord): Members {
  const operation = type === 'call.finished' ? String(details['method']) : type;
  const service = details['server'] ?? details['endpoint'] ?? resource;
  return { operation, ...(service != null && { service: { name: String(service) } }) };
}

function resourcesOf({ details: { tool, target } }: AuditEventRecord): Members {
  if (typeof tool === 'string') return { resources: [{ type: 'tool', name: tool }] };
  return typeof target === 'string' ? { resources: [{ type: 'resource', name: target }] } : {};
}

function responseOf({ details: { status, duration } }: AuditEventRecord): Members {
  return {
    ...(typeof status === 'number' && { status_code: String(status) }),
    ...(typeof duration === 'number' && { duration: Math.round(duration) }),
  };
}
