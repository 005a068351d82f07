// The page's side of the worker.
import { Refused } from './host.js';
import type { About, Checked, Files, Globe, Outcome, Request, Run, Told } from './messages';

/** The run was cancelled. */
export class Cancelled extends Error {}

interface Waiting {
  done: (value: never) => void;
  failed: (error: Error) => void;
  progress?: (share: number) => void;
}

export class Core {
  private readonly worker = new Worker(new URL('./worker.ts', import.meta.url), { type: 'module' });
  private readonly waiting = new Map<number, Waiting>();
  private count = 0;

  constructor() {
    this.worker.onmessage = ({ data }: MessageEvent<Told>) => this.told(data);
    this.worker.onerror = (event) => {
      for (const { failed } of this.waiting.values()) failed(new Error(event.message || 'the core could not be loaded'));
      this.waiting.clear();
    };
  }

  about(): Promise<About> {
    return this.ask({ do: 'about' });
  }

  check(toml: string, files: Files): Promise<Checked> {
    return this.ask({ do: 'check', toml, files });
  }

  /** The text with a value changed, or taken out where it is null. */
  async edit(toml: string, files: Files, path: string, value: unknown): Promise<string> {
    const { toml: edited } = await this.ask<{ toml: string }>({ do: 'edit', toml, files, path, value });
    return edited;
  }

  globe(toml: string, files: Files, instants: number): Promise<Globe | null> {
    return this.ask({ do: 'globe', toml, files, instants });
  }

  run(run: Run, progress?: (share: number) => void): Promise<Outcome> {
    return this.ask({ do: 'run', ...run }, progress);
  }

  /** Ends the run that is going on. */
  cancel(): void {
    this.worker.postMessage({ id: -1, request: { do: 'cancel' } satisfies Request });
  }

  private ask<T>(request: Request, progress?: (share: number) => void): Promise<T> {
    const id = this.count++;
    return new Promise<T>((done, failed) => {
      this.waiting.set(id, { done, failed, progress });
      this.worker.postMessage({ id, request });
    });
  }

  private told(told: Told): void {
    const waiting = this.waiting.get(told.id);
    if (!waiting) return;
    if ('share' in told) return waiting.progress?.(told.share);
    this.waiting.delete(told.id);
    if ('done' in told) waiting.done(told.done as never);
    else if ('refused' in told) waiting.failed(new Refused(told.refused));
    else waiting.failed(new Cancelled());
  }
}
