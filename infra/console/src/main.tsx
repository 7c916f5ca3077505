// Starts the console.
import { render } from 'preact';
import { App } from './app';
import { loadConfig } from './config';
import { Failure } from './parts/state';
import { finishSignIn } from './sign-in';

const root = document.getElementById('app')!;

start().then(
  () => render(<App />, root),
  (error: unknown) => render(<Failure error={error} retry={() => location.reload()} />, root),
);

async function start(): Promise<void> {
  await loadConfig();
  await finishSignIn();
}
