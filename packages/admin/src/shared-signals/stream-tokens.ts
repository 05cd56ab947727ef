/** The security event tokens of a stream: those that its receiver may get, with their subjects, signed when they are sent. */
import type { AccountAdministration, SecurityEventKeys } from '@portcullis/authorization-server';
import type {
  AuditEventRecord,
  AuthorizationStore,
  EventStreamRecord,
  EventStreamStore,
} from '@portcullis/authorization-server/store';
import type { EventReceiver } from './options.ts';
import { deliveredEvents, describeSecurityEvents, type TransmittedEvent } from './security-events.ts';

/** A token that is not signed yet. */
export interface StreamToken {
  /** The same each time that the token is sent. */
  readonly id: string;
  sign(): Promise<string>;
}

/** The tokens of an audit event for a stream, in their order. */
export type FindStreamTokens = (
  stream: EventStreamRecord,
  event: AuditEventRecord,
) => Promise<readonly StreamToken[]>;

interface Sources {
  readonly issuer: string;
  readonly store: Pick<AuthorizationStore, 'findGrant'> & Pick<EventStreamStore, 'listGrantedResources'>;
  readonly accounts: Pick<AccountAdministration, 'claims'>;
  readonly findReceiver: (clientId: string) => EventReceiver | undefined;
  readonly sign: SecurityEventKeys['sign'];
}

export function createStreamTokens(sources: Sources): FindStreamTokens {
  const { issuer, findReceiver, sign } = sources;
  return async (stream, event) => {
    const receiver = findReceiver(stream.clientId);
    if (receiver === undefined) return [];
    const delivered = deliveredEvents(stream.eventsRequested);
    const tokens: StreamToken[] = [];
    for (const [index, one] of describeSecurityEvents(event, stream.id).entries()) {
      const { accountId } = one;
      if (accountId !== null) {
        if (!delivered.includes(one.type) || stream.removedAccounts.includes(accountId)) continue;
        if (!(await isPermitted(sources, receiver, { ...one, accountId }, event))) continue;
      }
      const id = `${event.id}.${index}`;
      tokens.push({
        id,
        async sign() {
          const subject = await subjectOf(sources, receiver, stream, one);
          return sign({
            iss: issuer,
            aud: stream.clientId,
            jti: id,
            // Of the event: a receiver ends what is older, also if the token waited for it.
            iat: Math.floor(event.at / 1000),
            txn: event.id,
            sub_id: subject,
            events: { [one.type]: one.details },
          });
        },
      });
    }
    return tokens;
  };
}

/** A receiver with resources of its own learns of their users only, and of no grant for others. */
async function isPermitted(
  { store }: Sources,
  { resources }: EventReceiver,
  { accountId, grantId }: TransmittedEvent & { readonly accountId: string },
  { at }: AuditEventRecord,
): Promise<boolean> {
  if (resources === undefined) return true;
  const granted =
    grantId === null
      ? await store.listGrantedResources(accountId, Math.floor(at / 1000))
      : ((await store.findGrant(grantId))?.grant.resources ?? []);
  return granted.some((resource) => resources.includes(resource));
}

/** @see Shared Signals Framework 1.0 §3, RFC 9493 §3.2 */
async function subjectOf(
  { issuer, accounts }: Sources,
  { subjects }: EventReceiver,
  { id }: EventStreamRecord,
  { accountId, grantId }: TransmittedEvent,
): Promise<object> {
  // "The sub_id claim MUST always be set to have a simple value of type opaque." @see §8.1.4.1
  if (accountId === null) return { format: 'opaque', id };
  const { email } = subjects === 'email' ? await accounts.claims(accountId) : {};
  const user =
    email === undefined ? { format: 'iss_sub', iss: issuer, sub: accountId } : { format: 'email', email };
  if (grantId === null) return user;
  return { format: 'complex', user, session: { format: 'opaque', id: grantId } };
}
