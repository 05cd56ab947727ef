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

export function createApprovals(context: ServerContext): ApprovalsFeature {
  return { calls: createCallApprovals(context), routes: createApprovalPages };
}
