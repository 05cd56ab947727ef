/** Options of credentials towards a backend, and their definitions. */

/** How the gateway authenticates itself to a backend. The client's token never goes there. */
export type CredentialDefinition =
  | { readonly as: 'none' }
  | { readonly as: 'header'; readonly name: string; readonly value: string }
  | { readonly as: 'application' | 'user' | 'exchange' | 'enterprise' };
