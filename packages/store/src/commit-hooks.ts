/** Commit hooks: work that joins the next commit. */

export function createCommitHooks() {
  let hooks: readonly { readonly call: () => void; readonly timer: NodeJS.Timeout }[] = [];

  function runAlone(call: () => void): void {
    hooks = hooks.filter((hook) => hook.call !== call);
    call();
  }

  return {
    /** `call` runs right before the next commit, after `within` milliseconds at the latest. */
    add(call: () => void, within: number): void {
      hooks = [...hooks, { call, timer: setTimeout(runAlone, within, call).unref() }];
    },
    /** Runs all pending calls. */
    run(): void {
      const due = hooks;
      hooks = [];
      for (const { call, timer } of due) {
        clearTimeout(timer);
        call();
      }
    },
  };
}
