/** Operations on calls that wait for an approval. */
import type { ListedApproval } from '@portcullis/authorization-server';
import { type Administration, type AdminRequest, recordChange } from './administration.ts';
import { found, OperationError } from './errors.ts';

/** @param id whole: its beginning does not suffice here */
export async function showApproval({ approvals }: Administration, id: string): Promise<ListedApproval> {
  const one = await approvals.find(id);
  return found(one?.id === id ? one : null, `pending approval ${id}`);
}

/** What a pending call is, as a caller repeats it. */
type NamedCall = Pick<ListedApproval, 'server' | 'tool' | 'arguments'>;

/**
 * @param choice `repeatedly`: also the same call again, for the time that its rule offers
 * @param call what the approval must be about
 */
export async function allowOrDeny(
  request: AdminRequest,
  id: string,
  choice: 'once' | 'repeatedly' | 'deny',
  call?: NamedCall,
): Promise<ListedApproval> {
  const { admin, operator, reason } = request;
  const approval = await showApproval(admin, id);
  const isNamed =
    call === undefined ||
    (['server', 'tool', 'arguments'] as const).every((name) => approval[name] === call[name]);
  if (!isNamed)
    throw new OperationError(
      'conflict',
      'The approval is about another call: repeat server, tool and arguments as they are listed.',
    );
  if (choice === 'repeatedly' && approval.reusableFor === null)
    throw new OperationError('conflict', 'The rule of this call offers to allow it once only.');
  const isDecided = await admin.approvals.decide(id, choice, reason ?? undefined, operator.accountId);
  if (!isDecided) throw new OperationError('conflict', 'It was decided already, or has expired.');
  const { server, tool } = approval;
  recordChange(request, choice === 'deny' ? 'approvals.deny' : 'approvals.allow', id, {
    before: { server, tool, outcome: null },
    after: { server, tool, outcome: choice },
  });
  return approval;
}
