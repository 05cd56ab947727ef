/** Tools that change something, each by an approval of its user unless a setting says otherwise. */
import * as z from 'zod';
import { allowOrDeny } from '../operations/approvals.ts';
import { changeClientState } from '../operations/clients.ts';
import { endUserGrants } from '../operations/grants.ts';
import { decideTool } from '../operations/tools.ts';
import { changeUserState, endUserSessions } from '../operations/users.ts';
import { type AdminTool, defineTool } from './tool.ts';

const user = z.string().min(1).max(300).describe('email address or ID of an account');
const reason = z.string().min(1).max(500).describe('why, for the audit log');

export const changingTools: readonly AdminTool[] = [
  defineTool({
    name: 'decide_approval',
    title: 'Decide an approval',
    description:
      'Allows a pending call once, or denies it. Repeat server, tool and arguments exactly as list_pending_approvals shows them: the operator sees on the page of this approval what is decided.',
    scope: 'admin:write',
    input: {
      id: z.string().min(1).max(100),
      server: z.string().max(500),
      tool: z.string().max(500),
      arguments: z.string().max(100_000).describe('as text, character by character'),
      decision: z.enum(['allow', 'deny']),
      reason,
    },
    async run(request, { id, decision, reason: why, ...call }) {
      const choice = decision === 'allow' ? 'once' : 'deny';
      const { tool, server } = await allowOrDeny({ ...request, reason: why }, id, choice, call);
      return { decision, server, tool };
    },
  }),
  defineTool({
    name: 'review_tool',
    title: 'Approve or reject a tool',
    description:
      'Approves or rejects the definition of a new or changed tool, named by the hash that list_changed_tools shows.',
    scope: 'admin:write',
    input: {
      server: z.string().max(500),
      tool: z.string().max(500),
      hash: z.string().max(100),
      decision: z.enum(['approve', 'reject']),
      reason,
    },
    async run(request, { decision, reason: why, ...reviewed }) {
      await decideTool({ ...request, reason: why }, decision, reviewed);
      return { decision, ...reviewed };
    },
  }),
  defineTool({
    name: 'disable_client',
    title: 'Disable an app',
    description:
      'Rejects a client from now on, and revokes all its tokens and connections immediately. Enabling it again does not bring those back.',
    scope: 'admin:write',
    isDestructive: true,
    input: { client: z.string().min(1).max(2000).describe('client_id of an app'), reason },
    async run(request, { client, reason: why }) {
      const { id, disabledAt } = await changeClientState({ ...request, reason: why }, client, 'disable');
      return { client: id, disabledAt };
    },
  }),
  defineTool({
    name: 'end_user_connections',
    title: 'End the connections of a user',
    description:
      'Ends everything that a user has allowed apps, and signs the user out of all browsers. The user may allow apps again.',
    scope: 'admin:write',
    isDestructive: true,
    input: { user, reason },
    async run(request, { user: named, reason: why }) {
      const task = { ...request, reason: why };
      return { connections: await endUserGrants(task, named), sessions: await endUserSessions(task, named) };
    },
  }),
  defineTool({
    name: 'disable_user',
    title: 'Disable a user',
    description: 'Blocks the sign-in of an account, and ends its sessions and connections immediately.',
    scope: 'admin:write',
    isDestructive: true,
    input: { user, reason },
    async run(request, { user: named, reason: why }) {
      const { id, email, disabledAt } = await changeUserState({ ...request, reason: why }, named, 'disable');
      return { user: { id, email, disabledAt } };
    },
  }),
  defineTool({
    name: 'enable_user',
    title: 'Enable a user',
    description: 'Lets the owner of a disabled account sign in again.',
    scope: 'admin:write',
    input: { user, reason },
    async run(request, { user: named, reason: why }) {
      const { id, email, disabledAt } = await changeUserState({ ...request, reason: why }, named, 'enable');
      return { user: { id, email, disabledAt } };
    },
  }),
];
