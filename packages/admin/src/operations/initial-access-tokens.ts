/** Operations on initial access tokens, each of which lets one client register. */
import { type AdminRequest, recordChange } from './administration.ts';
import { OperationError } from './errors.ts';

type Created = Awaited<ReturnType<AdminRequest['admin']['initialAccessTokens']['create']>>;

/** @returns it with its secret, which cannot be read again @param seconds until it expires; a week by default */
export async function createInitialAccessToken(
  { admin, operator, reason }: AdminRequest,
  { note, seconds }: { readonly note?: string | undefined; readonly seconds?: number | undefined },
): Promise<Created> {
  const created = await admin.initialAccessTokens.create(note, seconds);
  const after = { note: created.note, expiresAt: created.expiresAt };
  recordChange(admin, operator, {
    operation: 'initial_access_tokens.create',
    target: created.id,
    before: null,
    after,
    reason,
  });
  return created;
}

export async function revokeInitialAccessToken(
  { admin, operator, reason }: AdminRequest,
  id: string,
): Promise<void> {
  const outcome = await admin.initialAccessTokens.revoke(id);
  if (outcome === 'unknown')
    throw new OperationError(
      'not_found',
      `There is no initial access token ${id}: list them for those that there are.`,
    );
  if (outcome === 'used')
    throw new OperationError('conflict', 'A client has registered with it: remove that client instead.');
  recordChange(admin, operator, {
    operation: 'initial_access_tokens.revoke',
    target: id,
    before: { id },
    after: null,
    reason,
  });
}
