/** The store of the authorization server, by capability: what an implementation provides. Types only. */
export type * from './approvals.ts';
export type * from './audit.ts';
export type * from './clients.ts';
export type * from './connected-accounts.ts';
export type * from './core.ts';
export type * from './device-authorizations.ts';
export type * from './federation.ts';
export type * from './grants.ts';
export type * from './managed-grants.ts';
export type * from './mfa.ts';
export type * from './personal-access-tokens.ts';
export type * from './rate-limits.ts';
export type * from './registration.ts';
export type * from './signing-keys.ts';
export type * from './status-lists.ts';
export type * from './transactions.ts';
export type * from './users.ts';
