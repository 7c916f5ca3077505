// Starts the console.
import { render } from 'preact';
import { App } from './app';
import { loadConfig } from './config';
import { Failure } from './parts/state';

const root = document.getElementById('app')!;

loadConfig().then(
  () => render(<App />, root),
  (error: unknown) => render(<Failure error={error} retry={() => location.reload()} />, root),
);
