/** `/approvals`: calls that wait for a decision. */
import type { ListedApproval } from '@portcullis/authorization-server';
import * as z from 'zod';
import { allowOrDeny, showApproval } from '../../operations/approvals.ts';
import { timeSchema } from '../../operations/time-schema.ts';
import { defineEndpoint, type Endpoint } from '../endpoint.ts';
import { pageOf, pageQuery, slicePage } from '../pages.ts';

const approvalSchema = z
  .object({
    id: z.string(),
    server: z.string(),
    tool: z.string(),
    description: z.string().nullable().describe('what its server says about the tool'),
    user: z.string().nullable().describe('for whom the call is made; null: the client acts for itself'),
    clientId: z.string(),
    rule: z.string().describe('the rule that needs the approval'),
    arguments: z
      .array(z.object({ name: z.string(), text: z.string() }))
      .describe('characters that are not seen are written as `<U+202E>`'),
    approverGroups: z.array(z.string()).nullable().describe('who decides; null: the user'),
    reusableFor: z
      .int()
      .nullable()
      .describe('seconds for which the same call can be allowed again; null: once only'),
    createdAt: timeSchema(),
    expiresAt: timeSchema(),
  })
  .meta({ id: 'Approval' });

function approvalJson({ account, shownArguments, ...approval }: ListedApproval) {
  return { ...approval, user: account, arguments: shownArguments.map(([name, text]) => ({ name, text })) };
}

const about = { params: { approvalId: z.string().min(1).max(100) }, response: approvalSchema } as const;

export const approvalEndpoints: readonly Endpoint[] = [
  defineEndpoint('Approvals', 'GET /approvals', {
    id: 'listApprovals',
    summary: 'List the calls that wait for approval, the oldest first',
    query: pageQuery,
    response: pageOf(approvalSchema, 'ApprovalPage'),
    handle: async ({ admin, query }) => slicePage(query, await admin.approvals.list(), approvalJson),
  }),
  defineEndpoint('Approvals', 'GET /approvals/{approvalId}', {
    ...about,
    id: 'showApproval',
    summary: 'Show a call with all its arguments',
    handle: async ({ admin, params }) => approvalJson(await showApproval(admin, params.approvalId)),
  }),
  defineEndpoint('Approvals', 'POST /approvals/{approvalId}/allow', {
    ...about,
    id: 'allowApproval',
    summary: 'Allow a call with exactly the arguments that are shown',
    body: {
      again: z.boolean().default(false).describe('also the same call again, for `reusableFor` seconds'),
    },
    async handle({ params, body, ...task }) {
      return approvalJson(await allowOrDeny(task, params.approvalId, body.again ? 'repeatedly' : 'once'));
    },
  }),
  defineEndpoint('Approvals', 'POST /approvals/{approvalId}/deny', {
    ...about,
    id: 'denyApproval',
    summary: 'Deny a call; the app is told the reason',
    handle: async ({ params, ...task }) => approvalJson(await allowOrDeny(task, params.approvalId, 'deny')),
  }),
];
