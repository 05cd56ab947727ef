/** Commit hooks: work that joins the next commit. */

interface CommitHook {
  readonly call: () => void;
  readonly timer: NodeJS.Timeout;
}

export interface CommitHooks {
  /** `call` runs right before the next commit, after `within` milliseconds at the latest. */
  add(call: () => void, within: number): void;
  /** Runs all pending calls. */
  run(): void;
}

export function createCommitHooks(): CommitHooks {
  let hooks: readonly CommitHook[] = [];

  function runAlone(call: () => void): void {
    hooks = hooks.filter((hook) => hook.call !== call);
    call();
  }

  return {
    add(call, within) {
      hooks = [...hooks, { call, timer: setTimeout(runAlone, within, call).unref() }];
    },
    run() {
      const due = hooks;
      hooks = [];
      for (const { call, timer } of due) {
        clearTimeout(timer);
        call();
      }
    },
  };
}
