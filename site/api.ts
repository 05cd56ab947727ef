/** The TypeScript API of every package, written by TypeDoc from the entry points in `exports`. */
import { fileURLToPath } from 'node:url';
import { Application } from 'typedoc';
import { content } from './content.ts';
import { findEntryPoints } from './entry-points.ts';
import { root } from './pages.ts';

/** Writes a page for each entry point into `api/`. */
export async function writeApi(): Promise<void> {
  const names = findEntryPoints();
  const app = await Application.bootstrapWithPlugins({
    options: fileURLToPath(new URL('typedoc.json', import.meta.url)),
    entryPoints: [...names.keys()].map((file) => `${root}${file}`),
    logLevel: 'Warn',
  });
  const entryPoints = app.getEntryPoints() ?? [];
  for (const entryPoint of entryPoints) {
    const file = [...names.keys()].find((name) => entryPoint.sourceFile.fileName.endsWith(`/${name}`));
    entryPoint.displayName = names.get(file ?? '') ?? entryPoint.displayName;
  }
  const project = app.converter.convert(entryPoints);
  await app.outputs.writeOutput({ name: 'markdown', path: `${content}api` }, project);
  if (app.logger.hasErrors()) throw new Error('TypeDoc reported errors.');
}
