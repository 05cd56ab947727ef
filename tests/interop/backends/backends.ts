/** MCP servers without authorization, from the package registry, with a call of each of their tools. */
import { cp } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface BackendProgram {
  readonly name: string;
  /** Its command over stdio. @param folder for its files */
  command(modules: string, folder: string): readonly string[];
  /** A call of each tool, in an order that succeeds. */
  calls(folder: string): Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

const node = (modules: string, file: string, ...args: readonly string[]) => [
  process.execPath,
  join(modules, file),
  ...args,
];

/** Copies a program of this folder to where its packages are. */
export async function installPrograms(modules: string): Promise<void> {
  await cp(fileURLToPath(new URL('servers', import.meta.url)), join(modules, '.programs'), {
    recursive: true,
  });
}

const OFFICIAL = '@modelcontextprotocol/server-';

const addition = (name: string): BackendProgram => ({
  name,
  command: (modules) => node(modules, `.programs/${name}.js`),
  calls: () => ({ add: { a: 2, b: 3 } }),
});

const adaLovelace = { name: 'Ada', entityType: 'human', observations: ['writes programs'] };
const knows = { from: 'Ada', to: 'Charles', relationType: 'knows' };

export const backendPrograms: readonly BackendProgram[] = [
  {
    name: 'server-everything',
    command: (modules) => node(modules, `${OFFICIAL}everything/dist/index.js`),
    calls: () => ({
      echo: { message: 'hello' },
      'get-annotated-message': { messageType: 'error' },
      'get-env': {},
      'get-resource-links': { count: 2 },
      'get-resource-reference': { resourceType: 'Text', resourceId: 1 },
      'get-structured-content': { location: 'New York' },
      'get-sum': { a: 2, b: 3 },
      'get-tiny-image': {},
      'gzip-file-as-resource': { name: 'hi.gz', data: 'data:text/plain;base64,aGk=', outputType: 'resource' },
      'toggle-simulated-logging': {},
      'toggle-subscriber-updates': {},
      'trigger-long-running-operation': { duration: 0.2, steps: 2 },
      'get-roots-list': {},
      'trigger-elicitation-request': {},
      'trigger-sampling-request': { prompt: 'Say hello', maxTokens: 10 },
    }),
  },
  {
    name: 'server-filesystem',
    command: (modules, folder) => node(modules, `${OFFICIAL}filesystem/dist/index.js`, folder),
    calls: (folder) => {
      const path = join(folder, 'a.txt');
      const pattern = basename(path);
      return {
        write_file: { path, content: 'one\ntwo\n' },
        read_file: { path },
        read_text_file: { path, head: 1 },
        read_media_file: { path },
        read_multiple_files: { paths: [path] },
        edit_file: { path, edits: [{ oldText: 'two', newText: 'three' }] },
        create_directory: { path: join(folder, 'sub') },
        list_directory: { path: folder },
        list_directory_with_sizes: { path: folder },
        directory_tree: { path: folder },
        search_files: { path: folder, pattern },
        get_file_info: { path },
        list_allowed_directories: {},
        move_file: { source: path, destination: join(folder, 'b.txt') },
      };
    },
  },
  {
    name: 'server-memory',
    command: (modules) => node(modules, `${OFFICIAL}memory/dist/index.js`),
    calls: () => ({
      create_entities: { entities: [adaLovelace, { ...adaLovelace, name: 'Charles' }] },
      create_relations: { relations: [knows] },
      add_observations: { observations: [{ entityName: 'Ada', contents: ['likes numbers'] }] },
      read_graph: {},
      search_nodes: { query: 'numbers' },
      open_nodes: { names: ['Ada'] },
      delete_observations: { deletions: [{ entityName: 'Ada', observations: ['likes numbers'] }] },
      delete_relations: { relations: [knows] },
      delete_entities: { entityNames: ['Ada', 'Charles'] },
    }),
  },
  {
    name: 'server-sequential-thinking',
    command: (modules) => node(modules, `${OFFICIAL}sequential-thinking/dist/index.js`),
    calls: () => ({
      sequentialthinking: { thought: 'First', nextThoughtNeeded: false, thoughtNumber: 1, totalThoughts: 1 },
    }),
  },
  {
    name: 'dbhub',
    command: (modules, folder) =>
      node(
        modules,
        '@bytebase/dbhub/dist/index.js',
        ...['--transport', 'stdio', '--dsn', `sqlite://${join(folder, 'data.db')}`],
      ),
    calls: () => ({
      execute_sql: { sql: 'SELECT 1 + 1 AS two' },
      search_objects: { object_type: 'table' },
    }),
  },
  addition('fastmcp'),
  addition('sdk-1'),
  addition('sdk-2'),
];
