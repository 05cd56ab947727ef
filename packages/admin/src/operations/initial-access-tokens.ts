/** Operations on initial access tokens, each of which lets one client register. */
import { type AdminRequest, recordChange } from './administration.ts';
import { found, OperationError } from './errors.ts';

type Created = Awaited<ReturnType<AdminRequest['admin']['initialAccessTokens']['create']>>;

/** @returns it with its secret, which cannot be read again @param seconds until it expires; a week by default */
export async function createInitialAccessToken(
  request: AdminRequest,
  { note, seconds }: { readonly note?: string | undefined; readonly seconds?: number | undefined },
): Promise<Created> {
  const created = await request.admin.initialAccessTokens.create(note, seconds);
  recordChange(request, 'initial_access_tokens.create', created.id, {
    after: { note: created.note, expiresAt: created.expiresAt },
  });
  return created;
}

export async function revokeInitialAccessToken(request: AdminRequest, id: string): Promise<void> {
  const outcome = await request.admin.initialAccessTokens.revoke(id);
  found(outcome !== 'unknown', `initial access token ${id}`);
  if (outcome === 'used')
    throw new OperationError('conflict', 'A client has registered with it: remove that client instead.');
  recordChange(request, 'initial_access_tokens.revoke', id, { before: { id } });
}
