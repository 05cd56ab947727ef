/** Tools that change something, each by an approval of its user unless a setting says otherwise. */
import * as z from 'zod';
import { allowOrDeny } from '../operations/approvals.ts';
import { changeClientState } from '../operations/clients.ts';
import { endUserGrants } from '../operations/grants.ts';
import { decideTool, reviewedTool } from '../operations/tools.ts';
import { changeUserState, endUserSessions } from '../operations/users.ts';
import { type AdminTool, defineTool } from './tool.ts';

const user = z.string().min(1).max(300).describe('email address or ID of an account');

export const changingTools: readonly AdminTool[] = [
  defineTool('admin:write', {
    name: 'decide_approval',
    title: 'Decide an approval',
    description:
      'Allows a pending call once, or denies it. Repeat server, tool and arguments exactly as list_pending_approvals shows them: the operator sees on the page of this approval what is decided.',
    input: {
      id: z.string().min(1).max(100),
      server: z.string().max(500),
      tool: z.string().max(500),
      arguments: z.string().max(100_000).describe('as text, character by character'),
      decision: z.enum(['allow', 'deny']),
    },
    async run(request, { id, decision, ...call }) {
      const { tool, server } = await allowOrDeny(request, id, decision === 'allow' ? 'once' : 'deny', call);
      return { decision, server, tool };
    },
  }),
  defineTool('admin:write', {
    name: 'review_tool',
    title: 'Approve or reject a tool',
    description:
      'Approves or rejects the definition of a new or changed tool, named by the hash that list_changed_tools shows.',
    input: { ...reviewedTool, decision: z.enum(['approve', 'reject']) },
    async run(request, { decision, ...reviewed }) {
      await decideTool(request, decision, reviewed);
      return { decision, ...reviewed };
    },
  }),
  defineTool('admin:write', {
    name: 'disable_client',
    title: 'Disable an app',
    description:
      'Rejects a client from now on, and revokes all its tokens and connections immediately. Enabling it again does not bring those back.',
    isDestructive: true,
    input: { client: z.string().min(1).max(2000).describe('client_id of an app') },
    async run(request, { client }) {
      const { id, disabledAt } = await changeClientState(request, client, 'disable');
      return { client: id, disabledAt };
    },
  }),
  defineTool('admin:write', {
    name: 'end_user_connections',
    title: 'End the connections of a user',
    description:
      'Ends everything that a user has allowed apps, and signs the user out of all browsers. The user may allow apps again.',
    isDestructive: true,
    input: { user },
    run: async (request, { user: named }) => ({
      connections: await endUserGrants(request, named),
      sessions: await endUserSessions(request, named),
    }),
  }),
  defineTool('admin:write', {
    name: 'disable_user',
    title: 'Disable a user',
    description: 'Blocks the sign-in of an account, and ends its sessions and connections immediately.',
    isDestructive: true,
    input: { user },
    async run(request, { user: named }) {
      const { id, email, disabledAt } = await changeUserState(request, named, 'disable');
      return { user: { id, email, disabledAt } };
    },
  }),
  defineTool('admin:write', {
    name: 'enable_user',
    title: 'Enable a user',
    description: 'Lets the owner of a disabled account sign in again.',
    input: { user },
    async run(request, { user: named }) {
      const { id, email, disabledAt } = await changeUserState(request, named, 'enable');
      return { user: { id, email, disabledAt } };
    },
  }),
];
