/** The setting `sharedSignals`: which clients receive security events, and the resource of their streams; loads nothing of the transmitter itself. */
import type { ResourceDefinition } from '@portcullis/authorization-server';
import {
  type InputOf,
  lazy,
  list,
  type OutputOf,
  optional,
  text,
} from '@portcullis/authorization-server/options';
import * as z from 'zod';

/** Reads streams. @see CAEP Interoperability Profile 1.0 §2.7.2 */
export const SSF_READ = 'ssf.read';
/** Creates, changes and removes them, and polls. */
export const SSF_MANAGE = 'ssf.manage';

/** Everything but the configuration document is below this path of the public URL. */
export const SSF_PATH = '/ssf';

const receiverSchema = lazy(() =>
  z.strictObject({
    client: text('a `client_id`').describe(
      'client that is the receiver; it acts for itself (client credentials)',
    ),
    resources: optional(
      list(text('the URL of a resource')),
      'resources of the receiver: it gets events about users with a grant for one of them; as grants end with their account, it learns that a user is disabled, not that the user is enabled or removed later',
      'events about all users',
    ),
    subjects: z
      .enum(['iss_sub', 'email'])
      .default('iss_sub')
      .describe('how users are named: by issuer and account, or by verified address where there is one'),
  }),
);

/** The schema of the setting `sharedSignals`. */
export const sharedSignalsSchema = lazy(() =>
  z.strictObject({
    receivers: list(receiverSchema()).describe('clients that may have event streams'),
  }),
);

/** The setting `sharedSignals`, validated. */
export type SharedSignalsOptions = OutputOf<typeof sharedSignalsSchema>;

/** The setting `sharedSignals` as written. */
export type GivenSharedSignalsOptions = InputOf<typeof sharedSignalsSchema>;

/** A client that may have event streams. */
export type EventReceiver = SharedSignalsOptions['receivers'][number];

/** The protected resource of stream management and polling, for the authorization server. */
export function transmitterResourceOf(issuer: string): ResourceDefinition {
  return {
    resource: `${new URL(issuer).origin}${SSF_PATH}`,
    name: 'Shared signals',
    scopes: {
      [SSF_READ]: 'Read its event streams',
      [SSF_MANAGE]: 'Create, change and poll its event streams',
    },
    access: { [SSF_READ]: 'read', [SSF_MANAGE]: 'administer' },
    defaultScopes: [SSF_READ],
    hierarchy: { [SSF_MANAGE]: [SSF_READ] },
    revocationDelay: 0,
  };
}
