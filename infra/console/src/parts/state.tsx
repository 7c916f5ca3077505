// What a screen shows in place of data: an error, nothing yet, or that it is loading.
import type { ComponentChildren } from 'preact';
import { ApiError, Unreachable } from '../api/reach';
import { errorText } from '../format';
import { beginSignIn, SignedOut } from '../sign-in';

export function Failure({ error, retry }: { error: unknown; retry?: () => void }) {
  const help = helpFor(error);
  const isMissing = error instanceof Unreachable; // as the line at the top of the page says
  return (
    <div class={isMissing ? 'failure missing' : 'failure'} role="alert">
      <p>
        <strong>{titleOf(error)}</strong> {errorText(error)}
      </p>
      {help && <p class="soft">{help}</p>}
      {error instanceof SignedOut && <SignInButton />}
      {retry && !(error instanceof SignedOut) && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

export const SignInButton = () => (
  <button type="button" class="primary" onClick={() => void beginSignIn()}>
    Sign in
  </button>
);

function titleOf(error: unknown): string {
  if (error instanceof ApiError) return `${error.problem.title}.`;
  if (error instanceof SignedOut) return 'Sign in again.';
  return error instanceof Unreachable ? 'Not loaded.' : 'Something went wrong.';
}

function helpFor(error: unknown): string {
  if (error instanceof ApiError && error.retryAfter > 0) return `It asks to wait ${error.retryAfter} s.`;
  return '';
}

/** A whole screen that has nothing to show, under its name. */
export const EmptyScreen = ({ title, children }: { title: string; children?: ComponentChildren }) => (
  <main class="page-body">
    <div class="empty">
      <h1>{title}</h1>
      {children && <p>{children}</p>}
    </div>
  </main>
);

/** A screen that is loading, or that could not be loaded. */
export const WaitingScreen = ({ name, error, retry }: { name: string; error?: unknown; retry(): Promise<void> }) => (
  <main class="page-body" aria-busy={error === undefined}>
    <h1 class="hidden">{name}</h1>
    {error === undefined ? <Loading lines={8} /> : <Failure error={error} retry={() => void retry()} />}
  </main>
);

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <strong>{title}</strong>
      {children && <p>{children}</p>}
    </div>
  );
}

/** Grey lines in the place of what is loading. They show only after a moment, so that fast answers do not flicker. */
export function Loading({ lines = 3 }: { lines?: number }) {
  return (
    <div class="loading" role="status" aria-label="Loading" aria-busy="true">
      {Array.from({ length: lines }, (_, i) => (
        <span key={i} />
      ))}
    </div>
  );
}
