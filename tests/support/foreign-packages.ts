/**
 * Imported first: packages that others wrote are resolved without the `source` condition, because some of them use the
 * same name for sources that Node does not run inside node_modules.
 */
import { registerHooks } from 'node:module';

registerHooks({
  resolve(specifier, context, nextResolve) {
    const foreign = context.parentURL?.includes('/node_modules/') === true;
    if (!foreign) return nextResolve(specifier, context);
    return nextResolve(specifier, {
      ...context,
      conditions: context.conditions.filter((name) => name !== 'source'),
    });
  },
});
