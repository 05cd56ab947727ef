/** Operations on tool definitions that wait for review. */
import type { PendingDefinitionRecord } from '@portcullis/protocol';
import * as z from 'zod';
import { type Administration, type AdminRequest, recordChange } from './administration.ts';
import { compareLines, type Line } from './compare-lines.ts';
import { OperationError } from './errors.ts';

/** Definitions of one review. */
const MAX_PENDING = 1000;

/** Definitions that clients neither see nor call until they are approved. @param server path; all by default */
export function listPendingTools(
  { store }: Administration,
  server?: string,
): Promise<readonly PendingDefinitionRecord[]> {
  return store.listPendingPins(MAX_PENDING, server === undefined ? undefined : { server });
}

/** @returns `undefined`: it does not wait any more */
export async function findPendingTool(
  { store }: Administration,
  { server, tool, hash }: ReviewedTool,
): Promise<PendingDefinitionRecord | undefined> {
  const pending = await store.listPendingPins(MAX_PENDING, { server, name: tool });
  return pending.find((one) => one.hash === hash);
}

/**
 * What differs from the definition that was approved last.
 * @param among how many differences one response has: they share the cost of one
 */
export function differenceOf(
  { approvedDefinition, definition }: PendingDefinitionRecord,
  among = 1,
): readonly Line[] {
  return compareLines(linesOf(approvedDefinition), linesOf(definition), among);
}

function linesOf(definition: string | null): readonly string[] {
  return definition === null ? [] : JSON.stringify(JSON.parse(definition), null, 2).split('\n');
}

/** Names the definition by its hash, so that what was reviewed is what is approved. */
export const reviewedTool = {
  server: z.string().max(500),
  tool: z.string().max(500),
  hash: z.string().max(100),
};

type ReviewedTool = Readonly<z.infer<z.ZodObject<typeof reviewedTool>>>;

/** @throws OperationError also if it has changed since it was read */
export async function decideTool(
  request: AdminRequest,
  decision: 'approve' | 'reject',
  { server, tool, hash }: ReviewedTool,
): Promise<void> {
  const { admin } = request;
  const pending = await findPendingTool(admin, { server, tool, hash });
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
