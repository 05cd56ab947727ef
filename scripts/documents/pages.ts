/** The pages of docs/ that are generated from code, and plots. A test compares each. */
import { benchmarkPlots, benchmarksPage } from './benchmarks.ts';
import { configurationPage } from './configuration.ts';
import { errorsPage } from './errors.ts';
import { httpApiPage } from './http-api.ts';
import { metricsPage } from './metrics.ts';

/** File → text. */
export async function generatedPages(): Promise<Readonly<Record<string, string>>> {
  return {
    'docs/benchmarks.md': benchmarksPage(),
    ...benchmarkPlots(),
    'docs/configuration.md': configurationPage(),
    'docs/errors.md': errorsPage(),
    'docs/http-api.md': await httpApiPage(),
    'docs/metrics.md': metricsPage(),
  };
}
