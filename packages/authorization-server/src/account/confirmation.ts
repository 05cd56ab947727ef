/** Confirmation of changes to an account: requires a credential, because a copied session proves nothing about its user. */
import type { HttpResponse } from '@portcullis/http';
import type { Parameters } from '@portcullis/protocol';
import type { PageRouter } from '../authorization/page-context.ts';
import type { LocalLogin } from '../login/local-login.ts';
import { type FormError, formErrorOptions, tooManyAttempts } from '../ui/form-error.ts';
import { respondPage } from '../ui/respond-page.ts';
import { createOneTimeTokens } from '../users/one-time-tokens.ts';
import type { User } from '../users/sessions.ts';
import type { AccountRequest } from './account-routes.ts';
import { type ConfirmedChange, confirmationPage } from './confirmation-view.ts';

/** Seconds in which a change of two steps must be completed. */
const PROOF_LIFETIME = 600;

/** What {@link Confirmation.check} decides: proven, with a proof for the next form of the same change, or a page that asks. */
type Confirmed = { readonly proof: string } | { readonly response: HttpResponse };

export type Confirmation = ReturnType<typeof createConfirmation>;

type Field = 'code' | 'password' | 'credential';

/** @see OWASP ASVS 5.0 §7.5.1: full re-authentication before changes to authentication settings */
export function createConfirmation(
  pages: PageRouter,
  { factors, passkeys, authenticate, verifyCode }: LocalLogin,
) {
  const { store, csrfTokens, events } = pages;
  const proofs = createOneTimeTokens(pages, 'confirmation', PROOF_LIFETIME);
  const challengeBinding = ({ sessionHash }: User, action: string) => ['confirm', action, sessionHash];
  /**
   * What an account has to confirm changes with, and whether its password suffices: where there is a second factor, session and
   * credential are two different factors, or a password alone would enable a second factor of its own beside that of the owner.
   */
  const findFactors = async ({ account: { id }, methods }: User) => {
    const hasCodes = await factors.isEnabled(id);
    const hasPasskeys = passkeys !== null && (await store.listPasskeys(id)).length > 0;
    const isOtherFactor = methods?.some((method) => method === 'mfa' || method === 'hwk') === true;
    return { hasCodes, hasPasskeys, passwordSuffices: isOtherFactor || !(hasCodes || hasPasskeys) };
  };
  /** A proof by password ends when the account gets a second factor. */
  const proofBinding = async (user: User, action: string) => {
    const { passwordSuffices } = await findFactors(user);
    return [action, user.sessionHash, user.account.id, String(passwordSuffices)];
  };

  const show = async (
    { context: { layout }, user }: AccountRequest,
    change: ConfirmedChange,
    error: (FormError & { readonly field: Field }) | null = null,
  ): Promise<HttpResponse> => {
    const { hasCodes, hasPasskeys, passwordSuffices } = await findFactors(user);
    const asked = hasPasskeys ? passkeys : null;
    const page = confirmationPage(layout, {
      change,
      token: csrfTokens.issue('account', user.sessionHash),
      email: user.account.email,
      asksForCode: hasCodes,
      asksForPassword: passwordSuffices,
      passkeyOptions: asked?.requestOptions(challengeBinding(user, change.action)) ?? null,
      error,
    });
    return respondPage(page, { ...formErrorOptions(error), script: hasPasskeys });
  };

  /** @returns whether the credential is right, or the seconds to wait */
  const verify = async (
    visit: AccountRequest,
    field: Field,
    value: string,
    action: string,
  ): Promise<boolean | number> => {
    const { user } = visit;
    const { account, methods } = user;
    if (field === 'credential') {
      const used = await passkeys?.verifyLogin(value, challengeBinding(user, action));
      if (used?.account.id !== account.id) return false;
      // A device that has not checked its user is one factor: the session has to have another.
      return used.isVerified || methods?.includes('hwk') !== true || methods.includes('mfa');
    }
    if (field === 'password') {
      const login = await authenticate(account.email, value, visit);
      return login.kind === 'throttled' ? login.retryAfter : login.kind === 'signed-in';
    }
    const attempt = await verifyCode(account, value, visit);
    return attempt.kind === 'throttled' ? attempt.retryAfter : attempt.result;
  };

  return {
    /** The page that asks for a credential and posts it to `change.action`. */
    ask: (visit: AccountRequest, change: ConfirmedChange): Promise<HttpResponse> => show(visit, change),
    /** Whether the form contains a proof of this user and session for this change. */
    isProven: async ({ parameters, user }: AccountRequest, action: string): Promise<boolean> =>
      proofs.isValid(parameters.one('proof') ?? '', ...(await proofBinding(user, action))),
    /** Uses the proven proof of a form up: it allows one change, which may have been undone since. @returns `false` if it was used before */
    consumeProof: ({ parameters }: AccountRequest): Promise<boolean> =>
      proofs.consume(parameters.required('proof')),
    /**
     * Verifies the `code`, `password` or passkey `credential` of a form of this page, throttled like a login. The `proof` is for
     * the next form of a change of two steps.
     */
    async check(visit: AccountRequest, change: ConfirmedChange): Promise<Confirmed> {
      const { parameters, user, context: { layout } } = visit; // biome-ignore format: one line
      const field = submittedField(parameters);
      const isAsked =
        field !== undefined && (field !== 'password' || (await findFactors(user)).passwordSuffices);
      if (!isAsked) return { response: await show(visit, change) };
      const outcome = await verify(visit, field, parameters.one(field) ?? '', change.action);
      if (outcome === true) return { proof: proofs.create(...(await proofBinding(user, change.action))) };
      if (outcome === false && field !== 'password')
        events({ type: 'login.failed', accountId: user.account.id });
      const wrong: FormError =
        outcome === false
          ? { message: layout.text(ERRORS[field]), status: 400 }
          : tooManyAttempts(layout, outcome);
      return { response: await show(visit, change, { ...wrong, field }) };
    },
  };
}

const ERRORS = {
  code: 'code.error',
  password: 'password.error.current',
  credential: 'confirm.passkey-refused',
} as const;

function submittedField(form: Parameters): Field | undefined {
  return (['code', 'password', 'credential'] as const).find((name) => form.one(name) !== undefined);
}
