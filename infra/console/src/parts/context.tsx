// The name of a context, as a label.
import { contextLabel } from '../format';

export const ContextLabel = ({ context }: { context: string }) => <span class="context">{contextLabel(context)}</span>;
