/** Operations on tool definitions that wait for review. */
import type { PendingDefinitionRecord } from '@portcullis/protocol';
import { type Administration, type AdminRequest, recordChange } from './administration.ts';
import { compareLines, type Line } from './compare-lines.ts';
import { OperationError } from './errors.ts';

/** Definitions of one review. */
const MAX_PENDING = 1000;

/** A definition that clients neither see nor call until it is approved. */
export interface PendingTool extends PendingDefinitionRecord {
  readonly difference: readonly Line[];
}

/** @param server path; all by default */
export async function listPendingTools(
  { store }: Administration,
  server?: string | undefined,
): Promise<readonly PendingTool[]> {
  const pending = await store.listPendingPins(MAX_PENDING);
  return pending
    .filter((one) => server === undefined || one.server === server)
    .map((one) => ({
      ...one,
      difference: compareLines(linesOf(one.approvedDefinition), linesOf(one.definition)),
    }));
}

function linesOf(definition: string | null): readonly string[] {
  return definition === null ? [] : JSON.stringify(JSON.parse(definition), null, 2).split('\n');
}

/** Names the definition by its hash, so that what was reviewed is what is approved. */
interface ReviewedTool {
  readonly server: string;
  readonly tool: string;
  readonly hash: string;
}

/** @throws OperationError also if it has changed since it was read */
export async function decideTool(
  request: AdminRequest,
  decision: 'approve' | 'reject',
  { server, tool, hash }: ReviewedTool,
): Promise<void> {
  const { admin } = request;
  const pending = (await listPendingTools(admin, server)).find(
    (one) => one.name === tool && one.hash === hash,
  );
  if (
    pending === undefined ||
    !(await admin.store.decidePendingPin(decision, pending, pending, admin.clock()))
  )
    throw new OperationError(
      'conflict',
      'This definition does not wait for review any more: list those that do, and review it again.',
    );
  admin.events({ type: decision === 'approve' ? 'tool.approved' : 'tool.rejected', server, tool });
  recordChange(request, `tools.${decision}`, `${server} ${tool}`, {
    before: { approved: pending.approvedDefinition },
    after: { [decision === 'approve' ? 'approved' : 'rejected']: pending.definition },
  });
}
