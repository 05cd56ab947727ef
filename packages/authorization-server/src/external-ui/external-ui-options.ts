/** Settings of the headless mode, in which an application of the operator shows the pages of sign-in and consent. */

/** Where that application is, and how it proves itself. */
export interface ExternalUiOptions {
  /** Where the application lets people sign in; our own pages do when left out. https, or http on loopback. */
  readonly loginUrl?: string;
  /** Where the application asks for consent; our own page does when left out. https, or http on loopback. */
  readonly consentUrl?: string;
  /** What the application signs its requests with, at least 32 characters. Any of them is taken, so that one can be replaced. */
  readonly secrets: readonly string[];
  /** Whether an address without an account gets one when the application says that its owner signed in. Not when left out. */
  readonly createAccounts?: boolean;
}

/** The same as judged. */
export interface ExternalUiRules {
  /** `null`: our own pages. */
  readonly loginUrl: string | null;
  readonly consentUrl: string | null;
  readonly secrets: readonly string[];
  readonly createAccounts: boolean;
}

/** Whether people sign in at the application, and not on pages of this server. */
export function hasExternalLogin({ externalUi }: { readonly externalUi: ExternalUiRules | null }): boolean {
  return externalUi !== null && externalUi.loginUrl !== null;
}

/** Characters of a secret that nobody guesses. */
const SHORTEST_SECRET = 32;

/** @returns `null` when this server shows every page itself */
export function validateExternalUi(
  options: ExternalUiOptions | undefined,
  issues: string[],
): ExternalUiRules | null {
  if (options === undefined) return null;
  const { loginUrl, consentUrl, secrets, createAccounts = false } = options;
  if (loginUrl === undefined && consentUrl === undefined) {
    issues.push('externalUi must name a loginUrl, a consentUrl, or both');
  }
  for (const [name, url] of Object.entries({ loginUrl, consentUrl })) {
    if (url !== undefined && !isPlace(url)) {
      issues.push(`externalUi.${name} must be an https address without a fragment, or http on loopback`);
    }
  }
  if (secrets.length === 0) issues.push('externalUi.secrets must have at least one secret');
  if (secrets.some(({ length }) => length < SHORTEST_SECRET)) {
    issues.push(`externalUi.secrets must each have at least ${SHORTEST_SECRET} characters`);
  }
  if (createAccounts && loginUrl === undefined) {
    issues.push('externalUi.createAccounts is for applications that let people sign in: name a loginUrl');
  }
  return { loginUrl: loginUrl ?? null, consentUrl: consentUrl ?? null, secrets, createAccounts };
}

function isPlace(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || text.includes('#') || url.username !== '' || url.password !== '') return false;
  const isLoopback = ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname);
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback);
}
