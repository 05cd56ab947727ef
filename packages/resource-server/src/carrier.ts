/** How a principal travels from a guard's middleware to the handler behind it, within frameworks that pass one object along. */
import type { Principal } from './principal.ts';

/** Nobody outside can write it: a request cannot bring it along, and no body parser can make it. */
const PRINCIPAL: unique symbol = Symbol('principal');

interface Carrier {
  [PRINCIPAL]?: Principal;
}

/** Hands a principal on with whatever the framework hands to its handlers. */
export function carryPrincipal(carrier: object, principal: Principal): void {
  (carrier as Carrier)[PRINCIPAL] = principal;
}

/** The principal that a guard has handed on already, if any. */
export function carriedPrincipal(carrier: object): Principal | undefined {
  return (carrier as Carrier)[PRINCIPAL];
}

/**
 * The principal of a request that a guard has admitted.
 * @throws TypeError when no guard stands before the handler: such a route would answer anybody.
 */
export function principalOf(carrier: object): Principal {
  const principal = carriedPrincipal(carrier);
  if (principal === undefined)
    throw new TypeError('No guard stands before this handler: put protect(guard) first.');
  return principal;
}
