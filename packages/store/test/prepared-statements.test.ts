/** Prepared statements behind a connection pooler that loses them. */
import { describe, expect, it, vi } from 'vitest';
import type { Connections } from '../src/postgres/connections.ts';
import { createPostgresDatabase } from '../src/postgres/postgres-database.ts';

type Statements = Parameters<Connections['runBatch']>[0];

/** Connections that record the names of statements, and lose as many of the first as are given. */
function connectionsThatLose(lost: number) {
  const names: (string | undefined)[] = [];
  const runBatch = async (statements: Statements) => {
    names.push(...statements.map(({ name }) => name));
    if (names.length <= lost)
      throw Object.assign(new Error('prepared statement does not exist'), { code: '26000' });
    return statements.map(() => [{ now: 1 }]);
  };
  return { names, connections: { runBatch } as unknown as Connections };
}

describe('prepared statements', () => {
  it('that a pooler loses while the server runs: one warning, and statements without names', async () => {
    const warn = vi.spyOn(process, 'emitWarning').mockReturnValue();
    const { names, connections } = connectionsThatLose(1);
    const database = createPostgresDatabase(connections, true);
    expect(await database.readClock()).toBe(1);
    expect(await database.readClock()).toBe(1);
    expect(names).toEqual([expect.stringMatching(/^portcullis_/), undefined, undefined]);
    expect(warn.mock.calls).toEqual([[expect.stringMatching(/does not keep prepared statements/)]]);
  });

  it('that a pooler keeps have names, without a warning', async () => {
    const warn = vi.spyOn(process, 'emitWarning').mockReturnValue();
    const { names, connections } = connectionsThatLose(0);
    expect(await createPostgresDatabase(connections, true).readClock()).toBe(1);
    expect(names).toEqual([expect.stringMatching(/^portcullis_/)]);
    expect(warn).not.toHaveBeenCalled();
  });

  it('of a pooler that lost them at startup have no names', async () => {
    const warn = vi.spyOn(process, 'emitWarning').mockReturnValue();
    const { names, connections } = connectionsThatLose(0);
    expect(await createPostgresDatabase(connections, false).readClock()).toBe(1);
    expect(names).toEqual([undefined]);
    expect(warn).toHaveBeenCalledOnce();
  });
});
