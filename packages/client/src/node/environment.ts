/** Credentials of local stdio servers come from the environment: they do not use OAuth. */

/**
 * Selects the variables for a local server by name, so that it receives nothing else of the environment.
 * Implementations with a STDIO transport SHOULD NOT follow this specification; they retrieve credentials from the
 * environment.
 * @throws TypeError naming the missing variables.
 * @see seed 1(2)
 */
export function credentialsFromEnvironment(
  names: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> {
  const missing = names.filter((name) => (environment[name] ?? '') === '');
  if (missing.length > 0)
    throw new TypeError(`Set ${missing.join(' and ')} in the environment of the local server.`);
  return Object.fromEntries(names.map((name) => [name, environment[name] ?? '']));
}
