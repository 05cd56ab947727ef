/** `/policy`: what the rules of servers decide, and why. */
import * as z from 'zod';
import { accessSchema } from '../../operations/policy/access.ts';
import {
  explainCall,
  findAccess,
  findPermittedUsers,
  MOST_ACCOUNTS,
  permittedUserSchema,
  supposedCall,
} from '../../operations/policy/explain.ts';
import { namedOperation, optionalName } from '../../operations/policy/operation.ts';
import { defineEndpoint, type Endpoint } from '../endpoint.ts';
import { listOf, pageQuery, readCursor, writeCursor } from '../pages.ts';

const accounts = z.coerce
  .number()
  .pipe(z.int().min(1).max(MOST_ACCOUNTS))
  .default(MOST_ACCOUNTS)
  .describe(`accounts that are read for a page, at most ${MOST_ACCOUNTS}`);

const consideration = z
  .object({ rule: z.string(), outcome: z.string(), reason: z.string() })
  .meta({ id: 'Consideration' });

export const policyEndpoints: readonly Endpoint[] = [
  defineEndpoint('Policy', 'GET /policy/rules', {
    id: 'listRules',
    summary: 'List the rules of each server, as they are configured',
    response: listOf(
      z.object({ server: z.string(), rules: z.record(z.string(), z.unknown()) }).meta({ id: 'ServerRules' }),
      'ServerRulesList',
    ),
    handle: async ({ admin }) => ({
      items: admin.servers().map(({ path, rules }) => ({ server: path, rules: { ...rules } })),
    }),
  }),
  defineEndpoint('Policy', 'POST /policy/explain', {
    id: 'explainPolicy',
    summary: 'Explain what is decided about a call, by which rule, and what else was considered',
    description: 'It changes nothing. An external decision point is not asked.',
    scope: 'admin:read',
    body: supposedCall,
    response: z
      .object({
        decision: z.enum(['allow', 'challenge', 'deny', 'insufficient_scope', 'step_up', 'approval']),
        because: z
          .object({ rule: z.string(), reason: z.string() })
          .nullable()
          .describe('what decided; null: it is allowed'),
        considered: z.array(consideration),
        notGrantable: z
          .array(z.object({ scope: z.string(), reason: z.string() }))
          .describe('scopes of the server that the user cannot be granted'),
      })
      .meta({ id: 'PolicyExplanation' }),
    async handle({ admin, body }) {
      const { decision, considered, notGrantable } = await explainCall(admin, body);
      const because =
        decision.kind === 'allow' ? null : { rule: decision.because.rule, reason: decision.because.reason };
      return { decision: decision.kind, because, considered, notGrantable };
    },
  }),
  defineEndpoint('Policy', 'GET /policy/access', {
    id: 'listAccess',
    summary: 'List what a user or a group may call at each server, and what refuses the rest',
    description:
      'Without `user` and `group`: what needs no token. Tools are those that the gateway has seen, and the patterns of the configuration for others.',
    query: {
      user: optionalName('identifier or email address of an account'),
      group: optionalName('name of a group; other claims of its members are taken as unknown'),
      client: optionalName('a `client_id`'),
    },
    response: listOf(accessSchema, 'ServerAccessList'),
    handle: async ({ admin, query }) => ({ items: await findAccess(admin, query) }),
  }),
  defineEndpoint('Policy', 'GET /policy/who-can', {
    id: 'whoCan',
    summary: 'List the users who may perform an operation',
    description:
      'A page reads so many accounts, in the order of their addresses, and lists those of them who may: it may be empty and not be the last.',
    query: {
      ...namedOperation,
      client: optionalName('a `client_id`'),
      cursor: pageQuery.cursor,
      limit: accounts,
    },
    response: z
      .object({
        users: z.array(permittedUserSchema),
        withoutToken: z.string().nullable().describe('null: a request without a token may not'),
        next: z.string().nullable().describe('cursor of the next page; null: this is the last'),
      })
      .meta({ id: 'WhoCan' }),
    async handle({ admin, query: { cursor, limit, ...named } }) {
      const { next, ...found } = await findPermittedUsers(admin, named, { after: readCursor(cursor), limit });
      return { ...found, next: writeCursor(next) };
    },
  }),
];
