/** The identity providers that provision users and groups, as configured. */
import type { Settings } from '../settings/schema.ts';

/** @returns their identifiers */
export function provisionersOf({ identityProviders }: Settings): readonly string[] {
  return identityProviders.flatMap((provider) =>
    provider.scim === undefined ? [] : [provider.id ?? provider.preset ?? ''],
  );
}
