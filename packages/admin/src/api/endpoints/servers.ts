/** `/servers`, `/tools`, `/identity-providers`, `/rate-limits`: what this installation serves, and the review of tools. */
import { hash } from 'node:crypto';
import type { PendingDefinitionRecord } from '@portcullis/protocol';
import * as z from 'zod';
import { findGroups, groupSchema } from '../../operations/accounts.ts';
import {
  describeProviderStatus,
  listProviderStatus,
  providerStatusSchema,
} from '../../operations/provider-status.ts';
import {
  backendOf,
  credentialsOf,
  healthOf,
  serverTestSchema,
  testServers,
} from '../../operations/servers.ts';
import { timeSchema } from '../../operations/time-schema.ts';
import { decideTool, differenceOf, listPendingTools, reviewedTool } from '../../operations/tools.ts';
import { defineEndpoint, type Endpoint } from '../endpoint.ts';
import { listOf, pageOf, pageQuery, slicePage } from '../pages.ts';

const serverSchema = z
  .object({
    path: z.string(),
    name: z.string(),
    resource: z.string(),
    backend: z.string().nullable().describe('URLs, or the command; null: it merges other servers'),
    credentials: z.string().describe('how the gateway authenticates itself there'),
    review: z.string().describe('what a new or changed tool needs'),
    health: z.enum(['up', 'down']).nullable().describe('null: not known yet'),
  })
  .meta({ id: 'Server' });

const pendingToolSchema = z
  .object({
    server: z.string(),
    tool: z.string(),
    hash: z.string().describe('names this definition: what was reviewed is what is approved'),
    since: timeSchema(),
    approved: z.unknown().describe('the definition that was approved last; null: none'),
    pending: z.unknown().describe('the definition that waits for approval'),
    difference: z.array(z.string()).describe('lines that begin with `+`, `-` or a space'),
  })
  .meta({ id: 'PendingTool' });

/** Of one definition among all, short enough for a cursor. */
function idOf({ server, backend, kind, name, hash: of }: PendingDefinitionRecord): string {
  return hash('sha256', JSON.stringify([server, backend, kind, name, of]), 'base64url');
}

function parse(text: string | null): unknown {
  return text === null ? null : JSON.parse(text);
}

const decided = z.object({ server: z.string(), tool: z.string() }).meta({ id: 'DecidedTool' });

function decisionEndpoint(decision: 'approve' | 'reject', summary: string): Endpoint {
  return defineEndpoint('Servers', `POST /tools/${decision}`, {
    id: `${decision}Tool`,
    summary,
    body: reviewedTool,
    response: decided,
    async handle({ body, ...task }) {
      await decideTool(task, decision, body);
      return { server: body.server, tool: body.tool };
    },
  });
}

export const serverEndpoints: readonly Endpoint[] = [
  defineEndpoint('Servers', 'POST /servers/test', {
    id: 'testServers',
    summary: 'Reach the backend of each server, or of one, and say what is wrong',
    description:
      'The server opens a session with each, as its gateway does, and lists the tools; it calls none.',
    body: { path: z.string().max(500).optional().describe('only the server at this path') },
    response: listOf(serverTestSchema, 'ServerTestList'),
    handle: async ({ admin, body }) => ({ items: await testServers(admin, body.path) }),
  }),
  defineEndpoint('Servers', 'GET /servers', {
    id: 'listServers',
    summary: 'List the servers behind the gateway, with the health of their backends',
    response: listOf(serverSchema, 'ServerList'),
    async handle({ admin }) {
      const items = admin.servers().map((server) => ({
        path: server.path,
        name: server.name,
        resource: server.resource,
        backend: backendOf(server),
        credentials: credentialsOf(server),
        review: String(server.review),
        health: healthOf(admin, server.path),
      }));
      return { items };
    },
  }),
  defineEndpoint('Servers', 'GET /tools/pending', {
    id: 'listPendingTools',
    summary: 'List new and changed tools, which stay hidden until they are approved',
    query: {
      ...pageQuery,
      server: z.string().max(500).optional().describe('path of a server; all by default'),
    },
    response: pageOf(pendingToolSchema, 'PendingToolPage'),
    async handle({ admin, query }) {
      const pending = await listPendingTools(admin, query.server);
      const among = Math.min(pending.length, query.limit);
      return slicePage(
        query,
        pending.map((one) => ({ ...one, id: idOf(one) })),
        (one) => ({
          ...{ server: one.server, tool: one.name, hash: one.hash, since: one.changedAt },
          approved: parse(one.approvedDefinition),
          pending: parse(one.definition),
          difference: differenceOf(one, among).map(([sign, line]) => `${sign} ${line}`),
        }),
      );
    },
  }),
  decisionEndpoint('approve', 'Approve the definition of a tool as it was reviewed'),
  decisionEndpoint('reject', 'Reject the definition of a tool; what was approved before stays'),
  defineEndpoint('Installation', 'GET /identity-providers', {
    id: 'listIdentityProviders',
    summary: 'List the identity providers with which users can sign in',
    response: listOf(
      z.object({ id: z.string(), name: z.string() }).meta({ id: 'IdentityProvider' }),
      'IdentityProviderList',
    ),
    handle: async ({ admin }) => ({ items: admin.identityProviders }),
  }),
  defineEndpoint('Installation', 'GET /identity-providers/status', {
    id: 'listIdentityProviderStatus',
    summary: 'Read the metadata and keys of each identity provider now, and when users last signed in there',
    response: listOf(providerStatusSchema, 'IdentityProviderStatusList'),
    handle: async ({ admin }) => ({ items: (await listProviderStatus(admin)).map(describeProviderStatus) }),
  }),
  defineEndpoint('Users', 'GET /groups', {
    id: 'listGroups',
    summary: 'List the groups of users who can sign in, with their members',
    description: 'Reads each account.',
    response: listOf(groupSchema, 'GroupList'),
    handle: async ({ admin }) => ({ items: await findGroups(admin.accounts) }),
  }),
  defineEndpoint('Installation', 'GET /rate-limits', {
    id: 'listRateLimits',
    summary: 'List the rate limits in effect; none: they are disabled',
    response: listOf(
      z.object({ name: z.string(), burst: z.number(), perMinute: z.number() }).meta({ id: 'RateLimit' }),
      'RateLimitList',
    ),
    handle: async ({ admin }) => ({
      items: Object.entries(admin.rateLimits).map(([name, limit]) => ({ name, ...limit })),
    }),
  }),
];
