/** Approvals of calls put together: for the gateway in the same process, and the pages of approvers. Loaded only if a rule needs them. */
import type { PageRouter } from '../authorization/page-context.ts';
import type { ServerContext } from '../context.ts';
import type { Route } from '../http/router.ts';
import { createApprovalPages } from './approval-pages.ts';
import { type CallApprovals, createCallApprovals } from './call-approvals.ts';

export interface ApprovalsFeature {
  readonly calls: CallApprovals;
  routes(pages: PageRouter): readonly Route[];
}

/** @param writeEvents stores the events so far */
export function createApprovals(context: ServerContext, writeEvents: () => Promise<void>): ApprovalsFeature {
  return { calls: createCallApprovals({ ...context, writeEvents }), routes: createApprovalPages };
}
