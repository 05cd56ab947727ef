/** What a provider's public documents say that it responds: data that `serve.ts` serves, with the page beside each response. */

/**
 * A documented response. In its body `$accessToken`, `$refreshToken` and `$idToken` are issued for each response, `$subject` is the
 * user, and `$origin` the provider.
 */
export interface RecordedResponse {
  readonly page: string;
  /** The page was not available when this was recorded: the response is that of the standard. */
  readonly unread?: true;
  /** Default: 200. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** `null`: empty. */
  readonly body: Members | null;
}

export type Members = Readonly<Record<string, unknown>>;

/** The revocation request that a provider documents. */
interface RecordedRevocation extends RecordedResponse {
  readonly request: {
    readonly method: 'POST' | 'DELETE';
    readonly path: string;
    /** Parameters of the form, or members of the JSON body. */
    readonly parameters: Members;
  };
}

export interface RecordedProvider {
  /** The user who signs in, and another one. */
  readonly subjects: readonly [string | number, string | number];
  /** The members of its metadata; a provider without discovery documents its endpoints elsewhere. */
  readonly metadata: RecordedResponse & { readonly body: Members };
  /** Claims of its ID tokens, beyond those of every ID token; `null`: it issues none. */
  readonly idToken: (Omit<RecordedResponse, 'body'> & { readonly claims: Members }) | null;
  /** Parameters of the redirect if the user declines. */
  readonly denied: RecordedResponse & { readonly body: Members };
  readonly token: RecordedResponse;
  readonly refresh: RecordedResponse;
  /** A refresh after the user or an administrator has revoked the grant. */
  readonly refreshRefused: RecordedResponse;
  readonly introspection?: { readonly active: RecordedResponse; readonly inactive: RecordedResponse };
  readonly userinfo?: { readonly user: RecordedResponse; readonly refused: RecordedResponse };
  /** `null`: it documents none. */
  readonly revocation: RecordedRevocation | null;
  /** Its response while it is unavailable, or limits requests. */
  readonly unavailable: RecordedResponse;
  /** The `prompt` that it documents for a new sign-in; `null`: none. */
  readonly loginPrompt: { readonly page: string; readonly unread?: true; readonly value: string } | null;
}

/** RFC 7662 §2.2, as every provider documents it. */
export const INACTIVE = { active: false } as const;
