/** The external decision point of this process, loaded only if one is configured. */
import type { DecideScopes } from '@portcullis/authorization-server';
import { createOptionReport } from '@portcullis/authorization-server/options';
import type { DecisionPoint } from '@portcullis/gateway';
import { defineDecisionPoint } from '@portcullis/gateway/options';
import { grantEvaluation } from '@portcullis/policy';
import type { Settings } from '../settings/schema.ts';

/** @returns `null` if none is configured */
export async function loadDecisionPoint({ policy }: Pick<Settings, 'policy'>): Promise<DecisionPoint | null> {
  const definition = defineDecisionPoint(policy, createOptionReport());
  if (definition === null) return null;
  const { createDecisionPoint } = await import('@portcullis/gateway');
  return createDecisionPoint(definition);
}

/** Asks it which scopes may be granted, for the authorization server. */
export function createDecideScopes({ options, evaluate }: DecisionPoint): DecideScopes {
  return async ({ resource, scopes, subject, accountId }) => {
    const recipient = { ...subject, subject: accountId };
    const now = Math.floor(Date.now() / 1000);
    const decisions = await evaluate(
      scopes.map((scope) => grantEvaluation(scope, resource, recipient, now, options)),
    );
    return scopes.filter((_scope, index) => decisions[index]?.kind === 'allow');
  };
}
