/** How a principal travels from a guard's middleware to the handler behind it, within frameworks that pass one object along. */
import type { Principal } from '../principal.ts';

/** Nobody outside can write it: a request cannot bring it along, and no body parser can make it. */
const PRINCIPAL: unique symbol = Symbol('principal');

interface PrincipalCarrier {
  [PRINCIPAL]?: Principal;
}

/** Hands a principal on with whatever the framework hands to its handlers. */
export function attachPrincipal(carrier: object, principal: Principal): void {
  (carrier as PrincipalCarrier)[PRINCIPAL] = principal;
}

/** The principal that a guard has handed on already, if any. */
export function attachedPrincipal(carrier: object): Principal | undefined {
  return (carrier as PrincipalCarrier)[PRINCIPAL];
}

/**
 * The principal of a request that a guard has admitted.
 * @throws TypeError when no guard stands before the handler: such a route would answer anybody.
 */
export function principalOf(carrier: object): Principal {
  const principal = attachedPrincipal(carrier);
  if (principal === undefined)
    throw new TypeError('No guard stands before this handler: put protect(guard) first.');
  return principal;
}
