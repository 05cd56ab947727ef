/** Local servers on standard input and output: their credentials come from the environment, and no OAuth is begun. */

/**
 * Picks the variables that a local server is to get, by name: nothing else of the environment goes along.
 * Implementations with a STDIO transport SHOULD NOT follow this specification; they retrieve credentials from the
 * environment.
 * @throws TypeError when a variable is missing, naming it.
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
