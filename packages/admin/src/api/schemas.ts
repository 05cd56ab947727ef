/** The schemas of what the API returns. Members that are not listed are never sent. */
import * as z from 'zod';
import { optionalTimeSchema, timeSchema } from '../operations/time-schema.ts';
import { roleSchema } from '../operations/users.ts';

/** A list that is complete. @param name of the schema in the OpenAPI document */
export function listOf<T extends z.ZodType>(item: T, name: string) {
  return z.object({ items: z.array(item) }).meta({ id: name });
}

const user = {
  id: z.string(),
  email: z.string().describe('address, or for a user of an identity provider the name with the provider'),
  kind: z.enum(['local', 'federated']).describe('where the user signs in: here, or at an identity provider'),
  role: roleSchema
    .nullable()
    .describe('what the account administers; null: nothing, unless a group of it does'),
  createdAt: timeSchema(),
  disabledAt: optionalTimeSchema(),
};

export const userSchema = z.object(user).meta({ id: 'User' });

export const userDetailsSchema = z
  .object({
    ...user,
    name: z.string().nullable(),
    verifiedEmail: z.string().nullable(),
    groups: z.array(z.string()),
    memberships: z
      .array(z.object({ name: z.string(), origin: z.enum(['operator', 'sign-in', 'scim']) }))
      .describe('the groups with their origin: one may come from several'),
    secondFactors: z.object({ totp: z.boolean(), passkeys: z.int() }),
  })
  .meta({ id: 'UserDetails' });

export const linkSchema = z
  .object({
    link: z.string().describe('one-time link: who opens it first chooses how the account signs in'),
    expiresAt: timeSchema(),
  })
  .meta({ id: 'AccountLink' });

export const sessionSchema = z
  .object({
    createdAt: timeSchema(),
    expiresAt: timeSchema(),
    address: z.string().nullable(),
    browser: z.string().nullable(),
    methods: z.array(z.string()).describe('how the user signed in, by names of RFC 8176'),
  })
  .meta({ id: 'Session' });

export const countSchema = z.object({ ended: z.int() }).meta({ id: 'Ended' });

export const listedClientSchema = z
  .object({
    id: z.string().describe('the `client_id`'),
    origin: z
      .enum(['registered', 'administered', 'configured', 'metadata-document'])
      .describe(
        'registered itself, was added by an operator, is in the configuration, or has a client metadata document',
      ),
    name: z.string().nullable().describe('as the client calls itself, unverified'),
    createdAt: optionalTimeSchema(),
    lastUsedAt: optionalTimeSchema(),
    disabledAt: optionalTimeSchema(),
    verifiedAt: optionalTimeSchema().describe(
      'when an operator verified a client that registered itself; ISO 8601',
    ),
    expiresAt: optionalTimeSchema(),
    metadata: z.record(z.string(), z.unknown()).describe('client metadata (RFC 7591)'),
  })
  .meta({ id: 'Client' });

export const grantSchema = z
  .object({
    id: z.string(),
    user: z.object({ id: z.string(), email: z.string() }),
    clientId: z.string(),
    scopes: z.array(z.string()),
    resources: z.array(z.string()),
    workspace: z.string().nullable(),
    createdAt: timeSchema(),
    expiresAt: timeSchema(),
    lastUsedAt: timeSchema(),
    identityProvider: z
      .object({
        id: z.string(),
        subject: z.string(),
        name: z.string().nullable(),
        scopes: z.array(z.string()),
      })
      .nullable()
      .describe('the provider tokens that it depends on'),
  })
  .meta({ id: 'Grant' });

export const eventSchema = z
  .object({
    id: z.string(),
    at: z.string().describe('ISO 8601 with milliseconds, in UTC'),
    type: z.string().describe('docs/events.md lists all'),
    clientId: z.string().nullable(),
    userId: z.string().nullable(),
    grantId: z.string().nullable(),
    resource: z.string().nullable(),
    transactionId: z.string().nullable(),
    details: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'Event' });
