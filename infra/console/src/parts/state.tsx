// What a screen shows in place of data: an error, nothing yet, or that it is loading.
import type { ComponentChildren } from 'preact';
import { ApiError, Unreachable } from '../api/reach';
import { errorText } from '../format';
import { beginSignIn, SignedOut } from '../sign-in';

export function Failure({ error, retry }: { error: unknown; retry?: () => void }) {
  const help = helpFor(error);
  return (
    <div class="failure" role="alert">
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
  return error instanceof Unreachable ? 'No answer.' : 'Something went wrong.';
}

function helpFor(error: unknown): string {
  if (error instanceof Unreachable) return 'It is asked again every second.';
  if (error instanceof ApiError && error.retryAfter > 0) return `It asks to wait ${error.retryAfter} s.`;
  return '';
}

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
